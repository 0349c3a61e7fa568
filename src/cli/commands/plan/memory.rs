//! How much memory judge and cache may take, and who says so.

use crate::cli::console::Failure;
use crate::engine::generate::llama::Placement;

const MEMINFO: &str = "/proc/meminfo";

/// The memory that was `asked` for, or else what the judge's GPUs have free, or else this machine.
pub fn of(asked: Option<u64>, placement: &Placement) -> Result<(u64, String), Failure> {
    if let Some(bytes) = asked {
        return Ok((bytes, "as given with --memory".into()));
    }
    if !placement.gpus.is_empty() {
        let names: Vec<&str> = placement.gpus.iter().map(|gpu| gpu.description.as_str()).collect();
        let bytes = placement.gpus.iter().map(|gpu| gpu.free_bytes).sum();
        return Ok((bytes, format!("free on {}", names.join(" and "))));
    }
    let text = std::fs::read_to_string(MEMINFO).unwrap_or_default();
    let bytes = available(&text).ok_or_else(|| {
        Failure::usage(format_args!("{MEMINFO}: expected a line MemAvailable, got none; name the memory with --memory"))
    })?;
    Ok((bytes, format!("available on this machine ({MEMINFO})")))
}

/// What is available without swapping.
fn available(meminfo: &str) -> Option<u64> {
    let rest = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = rest.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::available;

    #[test]
    fn what_is_available_not_what_is_free() {
        let text = "MemTotal:       65842368 kB\nMemFree:         1204888 kB\nMemAvailable:   50123456 kB\n";
        assert_eq!(available(text), Some(50_123_456 * 1024));
        assert_eq!(available("MemTotal: 5 kB\n"), None);
    }
}
