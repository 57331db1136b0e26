use super::*;

#[test]
fn costs_are_never_negative() {
    for bad in [-1e-300, f64::NAN, f64::INFINITY] {
        assert!(Cost::gaussian(bad).is_err());
        assert!(Cost::other(bad).is_err());
    }
    let refund = r#"{"gaussian_mu_squared":0.5,"other_rho":-0.1}"#;
    assert!(serde_json::from_str::<Cost>(refund).is_err());
}

/// In exact arithmetic 10^4 charges of a 10^4th sum to one: the computed sum is never below, and
/// within the stated slack above.
#[test]
fn sums_round_up_within_the_slack() {
    for parts in [3u32, 7, 1000, 10_000] {
        let share = Cost::gaussian((1.0 / f64::from(parts)).next_up()).unwrap();
        let total = (0..parts).fold(Cost::ZERO, |sum, _| sum.plus(&share));
        assert!(total.gaussian_mu_squared() >= 1.0);
        assert!(total.within(&Budget::gdp(1.0).unwrap()));
    }
}

#[test]
fn within_is_sharp() {
    let approximate = Budget::approximate(1.0, 1e-6).unwrap();
    for (budget, kind) in [
        (approximate, AccountantKind::Gdp),
        (Budget::zcdp(0.1).unwrap(), AccountantKind::Gdp),
        (Budget::gdp(0.7).unwrap(), AccountantKind::Gdp),
    ] {
        let total = budget.total(kind).unwrap().gaussian_mu_squared();
        assert!(Cost::gaussian(total).unwrap().within(&budget));
        assert!(
            !Cost::gaussian(total * (1.0 + 1e-8))
                .unwrap()
                .within(&budget)
        );
    }
    for budget in [approximate, Budget::zcdp(0.1).unwrap()] {
        let rho = budget.total(AccountantKind::Zcdp).unwrap().rho();
        assert!(Cost::other(rho).unwrap().within(&budget));
        assert!(!Cost::other(rho * (1.0 + 1e-8)).unwrap().within(&budget));
    }
    // No zCDP charge, however small, keeps a GDP budget.
    assert!(
        !Cost::other(1e-9)
            .unwrap()
            .within(&Budget::gdp(9.0).unwrap())
    );
}

#[test]
fn epsilon_of_the_whole_budget_is_the_budgets_epsilon() {
    let budget = Budget::approximate(1.0, 1e-6).unwrap();
    for kind in [AccountantKind::Gdp, AccountantKind::Zcdp] {
        let epsilon = budget
            .total(kind)
            .unwrap()
            .under(kind)
            .epsilon(1e-6)
            .unwrap();
        assert!((epsilon - 1.0).abs() < 1e-9, "{epsilon}");
    }
    assert_eq!(Cost::ZERO.epsilon(1e-6).unwrap(), 0.0);
    // The published advantage of exact GDP over the zCDP conversion: 5 to 9 % less noise.
    let mu = |kind| budget.total(kind).unwrap().gaussian_mu_squared().sqrt();
    let gain = mu(AccountantKind::Gdp) / mu(AccountantKind::Zcdp) - 1.0;
    assert!((0.05..0.10).contains(&gain), "{gain}");
}

#[test]
fn pure_charges_add_their_epsilons_and_have_room_of_their_own() {
    let half = Cost::pure(0.5).unwrap();
    let both = half.plus(&half);
    assert!(both.is_pure() && !both.is_gaussian());
    assert!((both.pure_epsilon() - 1.0).abs() < 1e-12 && both.pure_epsilon() >= 1.0);
    assert_eq!(both.epsilon(1e-6).unwrap(), both.pure_epsilon());
    assert!(both.rho() >= 0.5 && both.rho() < 0.5 + 1e-9);
    assert_eq!(both.mu(), None);
    let pure = Budget::pure(1.0).unwrap();
    assert!(both.within(&pure) && !both.plus(&half).within(&pure));
    assert!(!Cost::gaussian(1e-9).unwrap().within(&pure));
    // An (epsilon, delta) budget has room for its epsilon, a rho budget for sqrt(2 rho), a mu budget for nothing.
    assert!(both.within(&Budget::approximate(1.0, 1e-9).unwrap()));
    assert!(both.within(&Budget::zcdp(0.5 + 1e-8).unwrap()));
    assert!(!both.within(&Budget::gdp(100.0).unwrap()));
    // An authorisation of one kind covers that kind only.
    assert!(both.covers(&half) && !half.covers(&both));
    assert!(!both.covers(&Cost::gaussian(1e-6).unwrap()));
    assert!(!Cost::gaussian(100.0).unwrap().covers(&half));
    assert_eq!(both.minus(&half).pure_epsilon(), both.pure_epsilon() - 0.5);
    let mixed = half.plus(&Cost::gaussian(1.0).unwrap());
    assert!(!mixed.is_pure() && !mixed.is_gaussian());
    assert!((mixed.rho() - 0.625).abs() < 1e-9);
}

#[test]
fn a_cost_without_pure_charges_is_written_as_before() {
    let gaussian = Cost::gaussian(2.0).unwrap();
    let text = serde_json::to_string(&gaussian).unwrap();
    assert_eq!(text, "{\"gaussian_mu_squared\":2.0,\"other_rho\":0.0}");
    assert_eq!(serde_json::from_str::<Cost>(&text).unwrap(), gaussian);
    let pure = Cost::pure(0.25).unwrap();
    let text = serde_json::to_string(&pure).unwrap();
    assert_eq!(serde_json::from_str::<Cost>(&text).unwrap(), pure);
    assert!(serde_json::from_str::<Cost>(&text.replace("0.25", "-0.25")).is_err());
}
