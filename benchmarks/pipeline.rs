//! The time of `impute -m 100 | analyze` on the LaLonde release, against its limit of 2 seconds.
//!
//! Run by `cargo bench --bench pipeline`; it drives the built command as a shell pipe would.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

const LIMIT: f64 = 2.0;
const REPETITIONS: usize = 5;

fn main() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let binary = env!("CARGO_BIN_EXE_dpcausal");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let release = folder.path().join("release.json");
    let status = Command::new(binary)
        .arg("measure")
        .arg(root.join("src/cli/quickstart/lalonde.csv"))
        .arg("--schema")
        .arg(root.join("schemas/lalonde.yaml"))
        .arg("--workload")
        .arg(root.join("workloads/lalonde.yaml"))
        .args(["--epsilon", "1", "--insecure-seed", "1", "--quiet", "-o"])
        .arg(&release)
        .status()
        .expect("measure runs");
    assert!(status.success());
    let mut times: Vec<f64> = (0..REPETITIONS).map(|_| pipe(binary, &release)).collect();
    times.sort_by(f64::total_cmp);
    let median = times[REPETITIONS / 2];
    println!(
        "impute -m 100 | analyze: median {median:.3} s of {REPETITIONS} runs, {:.2} of the limit of {LIMIT} s",
        median / LIMIT
    );
}

/// One run of the pipe, in seconds.
fn pipe(binary: &str, release: &Path) -> f64 {
    let start = Instant::now();
    let mut impute = Command::new(binary)
        .arg("impute")
        .arg(release)
        .args(["-m", "100", "--quiet"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("impute runs");
    let tables = impute.stdout.take().expect("a pipe");
    let analyze = Command::new(binary)
        .args(["analyze", "-", "--json", "--quiet"])
        .stdin(tables)
        .stdout(Stdio::null())
        .status()
        .expect("analyze runs");
    assert!(analyze.success() && impute.wait().expect("impute ends").success());
    start.elapsed().as_secs_f64()
}
