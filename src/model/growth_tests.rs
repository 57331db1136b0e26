//! Trees that grow, against plans from scratch.

use super::*;

fn domain(sizes: &[usize]) -> Domain {
    let names = (0..sizes.len()).map(|i| format!("v{i}")).collect();
    Domain::new(names, sizes.to_vec()).unwrap()
}

/// Every set of one to three of seven variables, around a chain that some sets close to a cycle and a pair beside
/// it: in a chordal graph the bounds are what a new plan takes.
#[test]
fn room_is_what_a_new_plan_takes() {
    let domain = domain(&[2, 3, 4, 5, 2, 3, 2]);
    let sets = vec![vec![0, 1], vec![1, 2], vec![2, 3], vec![3, 4], vec![5, 6]];
    let growing = GrowingTree::new(&domain, &sets).unwrap();
    for mask in 1..128usize {
        let set: Vec<usize> = (0..7).filter(|v| mask >> v & 1 == 1).collect();
        let mut more = sets.clone();
        more.push(set.clone());
        let cells = JunctionTree::plan(&domain, &more).unwrap().cells() as u64;
        let is_inside = sets.iter().any(|c| set.iter().all(|v| c.contains(v)));
        assert!(growing.has_room(&set, cells).unwrap(), "{set:?}");
        let below = growing.has_room(&set, cells - 1).unwrap();
        assert_eq!(below, is_inside, "{set:?}");
    }
}

proptest::proptest! {
    /// Sets are added as long as they have room: the tree stays within the limit and is a junction tree of all of
    /// them, and a reader grows the same one.
    #[test]
    fn growth_keeps_what_it_promises(
        sizes in proptest::collection::vec(2usize..6, 40),
        offered in proptest::collection::vec(proptest::collection::btree_set(0usize..40, 1..4), 0..60),
        limit in 300u64..5000,
    ) {
        let domain = domain(&sizes);
        let mut growing = GrowingTree::new(&domain, &[]).unwrap();
        let mut sets = Vec::new();
        let candidates: Vec<Vec<usize>> = (0..39).flat_map(|v| (v + 1..40).map(move |w| vec![v, w])).collect();
        let mut rooms = vec![Room::default(); candidates.len()];
        for set in offered {
            let set: Vec<usize> = set.into_iter().collect();
            // What is known from earlier trees changes no answer.
            for (candidate, room) in candidates.iter().zip(&mut rooms) {
                let known = growing.has_room_knowing(candidate, limit, room).unwrap();
                assert_eq!(known, growing.has_room(candidate, limit).unwrap());
            }
            let is_within = growing.tree().covering_clique(&domain, &set).is_some();
            if !is_within {
                assert_bounds(&growing, &domain, &set);
            }
            assert_eq!(growing.is_covered(&set), is_within);
            if growing.has_room(&set, limit).unwrap() {
                growing = growing.with(&set).unwrap();
                sets.push(set);
                assert!(growing.tree().cells() <= u128::from(limit));
                assert!(growing.tree().has_running_intersection(&domain));
            }
        }
        let reader = JunctionTree::within(&domain, &sets, limit).unwrap();
        assert!(reader.cells() <= u128::from(limit));
        for set in &sets {
            assert!(growing.tree().covering_clique(&domain, set).is_some());
            assert!(reader.covering_clique(&domain, set).is_some());
        }
    }
}

/// Both ways to cover a set make a junction tree with no more cells than their bounds say, and whoever has room for the
/// smaller of them has room for the set.
fn assert_bounds(growing: &GrowingTree, domain: &Domain, set: &[usize]) {
    let cells = growing.tree.cells();
    let span = sorted(growing.paths(set));
    let own: u128 = span
        .iter()
        .map(|&c| domain.cells(&growing.tree.cliques()[c]))
        .sum();
    let carried = growing.carried(set);
    let anew = growing.span_anew(&span, set).unwrap();
    let planned = growing.span_problem(&span, set).unwrap();
    let planned = JunctionTree::plan(&planned.domain, &planned.sets)
        .unwrap()
        .cells();
    let bounds = [cells + growing.carrying(set).cells, cells - own + planned];
    for (tree, bound) in [carried, anew].iter().zip(bounds) {
        assert!(tree.has_running_intersection(domain));
        assert!(tree.covering_clique(domain, set).is_some());
        assert!(tree.cells() <= bound, "{set:?}: {} > {bound}", tree.cells());
    }
    let least = bounds[0].min(bounds[1]) as u64;
    assert!(growing.has_room(set, least).unwrap());
    let fewer = growing.has_room(set, least - 1).unwrap();
    assert!(!fewer || domain.variables() <= PLANNED_ANEW);
}
