//! Ctrl-C, `kill` and a closed terminal: no file is left behind, and the exit code says so.

use super::progress;
use crate::atomic;
use anyhow::Context;

/// The exit code of an interrupted command, as shells report an interrupt.
pub const INTERRUPTED: i32 = 130;

/// From now on, SIGINT, SIGTERM and SIGHUP remove unfinished files and progress bars and end the
/// process with [`INTERRUPTED`]. To be called once, before any work.
///
/// A ledger needs no care here: its charge is on the disk before noise is drawn, so an interrupt can
/// lose a release and never a charge.
///
/// # Errors
/// Where the process has such a handler already.
pub fn install() -> anyhow::Result<()> {
    ctrlc::try_set_handler(|| {
        // Runs on a thread of its own, not in a signal's context: locks and files are allowed.
        atomic::remove_unfinished();
        progress::clear();
        std::process::exit(INTERRUPTED);
    })
    .context("can't install the handler of interrupts")
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::atomic::AtomicFile;
    use std::io::Write;
    use std::path::Path;
    use std::process::Command;
    use std::time::{Duration, Instant};

    const CHILD: &str = "DPCAUSAL_TEST_INTERRUPT";

    /// What the child does: begins a file and waits to be interrupted.
    fn child(target: &Path) {
        install().unwrap();
        let mut file = AtomicFile::create(target).unwrap();
        file.write_all(b"half a release").unwrap();
        std::thread::sleep(Duration::from_secs(60));
    }

    #[test]
    fn an_interrupt_leaves_no_file_and_exits_with_130() {
        if let Some(target) = std::env::var_os(CHILD) {
            return child(Path::new(&target));
        }
        let name = "cli::interrupt::tests::an_interrupt_leaves_no_file_and_exits_with_130";
        for signal in ["INT", "TERM", "HUP"] {
            let directory = tempfile::tempdir().unwrap();
            let entries = || std::fs::read_dir(directory.path()).unwrap().count();
            let mut process = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", name])
                .env(CHILD, directory.path().join("release.json"))
                .stdout(std::process::Stdio::null())
                .spawn()
                .unwrap();
            let start = Instant::now();
            while entries() == 0 && start.elapsed() < Duration::from_secs(20) {
                std::thread::sleep(Duration::from_millis(5));
            }
            assert_eq!(entries(), 1, "the child began no file");
            let kill = format!("kill -{signal} {}", process.id());
            assert!(
                Command::new("sh")
                    .args(["-c", &kill])
                    .status()
                    .unwrap()
                    .success()
            );
            assert_eq!(process.wait().unwrap().code(), Some(INTERRUPTED));
            assert_eq!(entries(), 0, "SIG{signal} left a file");
        }
    }
}
