//! The fixture of the command's tests: a scratch folder with the embedded documents and data in it, and
//! the binary run there as a user would.
#![allow(
    dead_code,
    reason = "each test binary uses its own part of the fixture"
)]

use assert_cmd::Command;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A scratch folder.
pub struct Scratch {
    folder: TempDir,
}

impl Scratch {
    /// A folder with `lalonde.csv`, `schema.yaml` and `workload.yaml`.
    pub fn new() -> Scratch {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let scratch = Scratch { folder };
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        for (from, to) in [
            ("src/cli/quickstart/lalonde.csv", "lalonde.csv"),
            ("schemas/lalonde.yaml", "schema.yaml"),
            ("workloads/lalonde.yaml", "workload.yaml"),
        ] {
            std::fs::copy(root.join(from), scratch.path(to)).expect("a file of the project");
        }
        scratch
    }

    /// A path in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).expect("a writable scratch folder");
    }

    /// Reads a file.
    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// The command in this folder.
    pub fn command(&self) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("dpcausal"));
        command
            .current_dir(self.folder.path())
            .env("NO_COLOR", "1")
            .env("COLUMNS", "100");
        command
    }

    /// Runs the command with words split at spaces; it must succeed.
    pub fn run(&self, words: &str) -> Output {
        self.run_for(words, 0)
    }

    /// Runs the command; it must exit with `code`.
    pub fn run_for(&self, words: &str, code: i32) -> Output {
        let output = self
            .command()
            .args(words.split_whitespace())
            .output()
            .expect("the command runs");
        let output = Output {
            stdout: output.stdout,
            stderr: String::from_utf8(output.stderr).expect("messages are UTF-8"),
            code: output.status.code(),
        };
        assert_eq!(
            output.code,
            Some(code),
            "dpcausal {words}\n{}",
            output.stderr
        );
        output
    }

    /// Measures LaLonde with seeded noise into `name`.
    pub fn measure(&self, name: &str, epsilon: f64) {
        self.run(&format!(
            "measure lalonde.csv --schema schema.yaml --workload workload.yaml --epsilon {epsilon} --insecure-seed 7 -o {name}"
        ));
    }

    /// The names in the folder, sorted.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.folder.path())
            .expect("a readable scratch folder")
            .map(|entry| {
                entry
                    .expect("an entry")
                    .file_name()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect();
        names.sort();
        names
    }
}

/// What a run printed.
pub struct Output {
    pub stdout: Vec<u8>,
    pub stderr: String,
    pub code: Option<i32>,
}

impl Output {
    /// Standard output as text.
    pub fn text(&self) -> String {
        String::from_utf8(self.stdout.clone()).expect("text on standard output")
    }

    /// Standard output as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.stdout).unwrap_or_else(|e| panic!("{e}\n{}", self.text()))
    }
}
