//! What a run costs: processor seconds and the largest resident memory, as Linux counts them.

/// The process's processor seconds so far, all threads together; NaN where the system does not tell.
pub fn cpu_seconds() -> f64 {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else {
        return f64::NAN;
    };
    let nanoseconds = |task: std::fs::DirEntry| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    };
    let sum: f64 = tasks.flatten().filter_map(nanoseconds).sum();
    sum * 1e-9
}

/// The largest resident memory so far, in MB; NaN where the system does not tell.
pub fn peak_megabytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    kilobytes.map_or(f64::NAN, |kilobytes| kilobytes * 1.024e-3)
}
