//! Every command of the README runs, in the order in which it stands there.

mod common;

use common::Scratch;
use std::process::Command;

/// The lines that start with `$ ` in the README's console blocks.
fn commands() -> Vec<String> {
    let readme = include_str!("../README.md");
    readme
        .lines()
        .filter_map(|line| line.strip_prefix("$ "))
        .map(str::to_string)
        .collect()
}

#[test]
fn every_command_of_the_readme_runs() {
    let scratch = Scratch::new();
    let binary = assert_cmd::cargo::cargo_bin!("dpcausal");
    let mut folder = scratch.path("");
    let mut ran = 0;
    for line in commands() {
        // What this very run does already.
        if line == "cargo test" {
            continue;
        }
        if let Some(next) = line.strip_prefix("cd ") {
            folder = folder.join(next);
            continue;
        }
        let script = line
            .replace("cargo run --release --", "dpcausal")
            .replace("dpcausal ", &format!("{} ", binary.display()));
        let output = Command::new("bash")
            .args(["-o", "pipefail", "-c", &script])
            .current_dir(&folder)
            .env("NO_COLOR", "1")
            .output()
            .expect("bash runs");
        assert!(
            output.status.success(),
            "$ {line}\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(
            !output.stdout.is_empty() || line.contains(" -o ") || line.contains(" init "),
            "$ {line} printed nothing"
        );
        ran += 1;
    }
    assert!(ran >= 10, "only {ran} commands were found");
}
