//! The `dpcausal` command: everything is in the library's `cli` room.

fn main() -> std::process::ExitCode {
    dpcausal::cli::main()
}
