use super::*;
use std::fs;

fn entry(mu_squared: f64) -> Entry {
    Entry {
        release: ReleaseId::random().unwrap(),
        mechanism: "causal".into(),
        accountant: AccountantKind::Gdp,
        adjacency: Adjacency::AddRemove,
        unit: "row".into(),
        cost: Cost::gaussian(mu_squared).unwrap(),
    }
}

/// A folder that goes away, and a ledger's path in it.
fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ledger.jsonl");
    (folder, path)
}

/// A ledger with a budget of `mu^2 = 1`.
fn unit_ledger() -> (tempfile::TempDir, PathBuf) {
    let (folder, path) = place();
    Ledger::create(&path, Budget::gdp(1.0).unwrap(), "trial").unwrap();
    (folder, path)
}

#[test]
fn charges_add_up_across_openings_and_stop_at_the_budget() {
    let (_folder, path) = unit_ledger();
    for _ in 0..4 {
        Ledger::reserve(&path, &entry(0.25)).unwrap();
    }
    let before = fs::read(&path).unwrap();
    let refused = Ledger::reserve(&path, &entry(0.001)).unwrap_err();
    assert!(
        matches!(refused, PrivacyError::OverBudget { .. }),
        "{refused}"
    );
    let text = refused.to_string();
    assert!(text.contains("spent so far mu = 1.0"), "{text}");
    assert!(text.contains("asks for mu = 0.0316"), "{text}");
    assert_eq!(fs::read(&path).unwrap(), before);
    let ledger = Ledger::open(&path).unwrap();
    assert_eq!(ledger.entries().len(), 4);
    assert_eq!(ledger.label(), "trial");
    assert!((ledger.spent().gaussian_mu_squared() - 1.0).abs() < 1e-12);
    let left = ledger.remaining(AccountantKind::Gdp).unwrap();
    assert!(left.gaussian_mu_squared() < 1e-12);
}

#[test]
fn an_existing_file_is_never_overwritten() {
    let (_folder, path) = unit_ledger();
    Ledger::reserve(&path, &entry(0.5)).unwrap();
    let before = fs::read(&path).unwrap();
    let again = Ledger::create(&path, Budget::gdp(9.0).unwrap(), "other").unwrap_err();
    assert!(matches!(again, PrivacyError::LedgerExists { .. }));
    assert_eq!(fs::read(&path).unwrap(), before);
}

/// 32 threads ask for a 20th each, in a loop: exactly 20 requests succeed, whatever the schedule.
#[test]
fn concurrent_reservations_never_exceed_the_budget() {
    let (_folder, path) = unit_ledger();
    let granted: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..32)
            .map(|_| {
                scope.spawn(|| {
                    (0..2)
                        .filter(|_| Ledger::reserve(&path, &entry(0.05)).is_ok())
                        .count()
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).sum()
    });
    assert_eq!(granted, 20);
    assert_eq!(Ledger::open(&path).unwrap().entries().len(), 20);
}

/// Every possible cut of the last line, with and without zero padding: the ledger stays readable, a whole
/// entry counts and a fragment doesn't, and the next reservation leaves a sound file.
#[test]
fn a_line_torn_at_any_byte_is_recovered() {
    let (_folder, path) = unit_ledger();
    Ledger::reserve(&path, &entry(0.125)).unwrap();
    let first = fs::read(&path).unwrap().len();
    Ledger::reserve(&path, &entry(0.125)).unwrap();
    let whole = fs::read(&path).unwrap();
    for cut in first..whole.len() {
        for padding in [0, 7] {
            if cut == first && padding == 0 {
                continue;
            }
            let mut torn = whole[..cut].to_vec();
            torn.extend(std::iter::repeat_n(0u8, padding));
            fs::write(&path, &torn).unwrap();
            let complete = cut == whole.len() - 1;
            let ledger = Ledger::open(&path).unwrap();
            assert_eq!(
                ledger.entries().len(),
                1 + usize::from(complete),
                "cut at {cut}"
            );
            assert_eq!(ledger.has_torn_line(), !complete);
            Ledger::reserve(&path, &entry(0.125)).unwrap();
            let repaired = Ledger::open(&path).unwrap();
            assert_eq!(repaired.entries().len(), 2 + usize::from(complete));
            assert!(!repaired.has_torn_line());
            assert!(fs::read(&path).unwrap().ends_with(b"\n"));
        }
    }
}

#[test]
fn damage_elsewhere_is_an_error_with_its_line() {
    let (_folder, path) = unit_ledger();
    for _ in 0..3 {
        Ledger::reserve(&path, &entry(0.25)).unwrap();
    }
    let good = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = good.lines().collect();
    let damaged = |line: usize, text: &str| {
        let mut changed = lines.clone();
        changed[line - 1] = text;
        fs::write(&path, changed.join("\n") + "\n").unwrap();
        match Ledger::open(&path).unwrap_err() {
            PrivacyError::LedgerLine { line, problem, .. } => (line, problem),
            other => panic!("{other}"),
        }
    };
    assert_eq!(damaged(3, "{\"release\":").0, 3);
    assert_eq!(damaged(3, "").0, 3);
    assert_eq!(damaged(4, lines[2]).0, 4); // The same release twice.
    assert_eq!(damaged(1, "{\"format\":\"dpcausal.ledger/9\"}").0, 1);
    assert_eq!(damaged(1, "").0, 1);
    let refund = lines[2].replace("0.25", "-0.25");
    assert_eq!(damaged(3, &refund).0, 3);
    let too_much = lines[2].replace("0.25", "0.75");
    let (line, problem) = damaged(3, &too_much);
    assert_eq!(line, 4);
    assert!(problem.contains("exceed the budget"), "{problem}");
    let other_unit = lines[3].replace("row", "person");
    assert_eq!(damaged(4, &other_unit).0, 4);
    // None of this is repaired by a reservation.
    assert!(Ledger::reserve(&path, &entry(0.1)).is_err());
}

#[test]
fn a_ledger_protects_one_kind_of_neighbours() {
    let (_folder, path) = unit_ledger();
    Ledger::reserve(&path, &entry(0.1)).unwrap();
    let mut other = entry(0.1);
    other.adjacency = Adjacency::ReplaceOne;
    let refused = Ledger::reserve(&path, &other).unwrap_err().to_string();
    assert!(refused.contains("adjacency"), "{refused}");
    let mut other = entry(0.1);
    other.unit = "person, at most 3 rows".into();
    let refused = Ledger::reserve(&path, &other).unwrap_err().to_string();
    assert!(refused.contains("person, at most 3 rows"), "{refused}");
}

#[test]
fn a_release_is_charged_once() {
    let (_folder, path) = unit_ledger();
    let release = entry(0.1);
    Ledger::reserve(&path, &release).unwrap();
    assert!(matches!(
        Ledger::reserve(&path, &release),
        Err(PrivacyError::DuplicateRelease(_))
    ));
}

#[test]
fn the_first_entry_fixes_the_accountant() {
    let budget = Budget::approximate(1.0, 1e-6).unwrap();
    let gdp_total = budget.total(AccountantKind::Gdp).unwrap();
    let zcdp_total = budget.total(AccountantKind::Zcdp).unwrap();
    assert!(gdp_total.gaussian_mu_squared() > zcdp_total.gaussian_mu_squared());

    // GDP first: all of mu^2 can be spent, but only on Gaussian measurements.
    let (_folder, path) = place();
    Ledger::create(&path, budget, "").unwrap();
    Ledger::reserve(&path, &entry(0.01)).unwrap();
    let mut other = entry(0.0);
    other.accountant = AccountantKind::Zcdp;
    other.cost = Cost::other(1e-6).unwrap();
    assert!(matches!(
        Ledger::reserve(&path, &other),
        Err(PrivacyError::NotGaussian)
    ));
    let rest = gdp_total.gaussian_mu_squared() - 0.01;
    Ledger::reserve(&path, &entry(rest)).unwrap();

    // zCDP first: everything is welcome, within rho.
    let (_folder, path) = place();
    Ledger::create(&path, budget, "").unwrap();
    Ledger::reserve(&path, &other).unwrap();
    let all = entry(zcdp_total.gaussian_mu_squared());
    assert!(matches!(
        Ledger::reserve(&path, &all),
        Err(PrivacyError::OverBudget { .. })
    ));
    let left = Ledger::open(&path)
        .unwrap()
        .remaining(AccountantKind::Gdp)
        .unwrap();
    Ledger::reserve(&path, &entry(2.0 * left.rho())).unwrap();
}
