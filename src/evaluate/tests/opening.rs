//! Nobody but this room opens confidential values without a charge.

use std::path::{Path, PathBuf};

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Rust can't say "visible in `privacy` and in `evaluate`", so the source is read: the only callers stand in
/// this room, and no room above it can name this room.
#[test]
fn only_this_room_discloses_and_no_mechanism_can_call_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    sources(&root, &mut found);
    let (mut callers, mut importers) = (Vec::new(), Vec::new());
    for path in found {
        let text = std::fs::read_to_string(&path).unwrap();
        let inside = path.strip_prefix(&root).unwrap();
        let room = inside.iter().next().unwrap().to_str().unwrap().to_string();
        let is_itself = path.ends_with("evaluate/tests/opening.rs");
        if text.contains("disclose_to_the_agencys_own_staff") && !is_itself {
            callers.push(inside.to_path_buf());
        }
        if text.contains("crate::evaluate") && !is_itself {
            importers.push(room);
        }
    }
    callers.sort();
    let expected = ["evaluate/mod.rs", "privacy/internal.rs"].map(PathBuf::from);
    assert_eq!(callers, expected);
    let allowed = ["evaluate", "report", "cli"];
    let other = importers
        .iter()
        .find(|room| !allowed.contains(&room.as_str()));
    assert_eq!(
        other, None,
        "a room that takes part in releases names `evaluate`"
    );
}
