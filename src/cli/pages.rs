//! `completions`, `man` and `json-schema`: pages about the program itself.

use super::args::{Arguments, DocumentFormat};
use super::output::Destination;
use super::status::{ExitStatus, Failure, OrStatus};
use crate::schema::{PanelFile, SchemaFile};
use crate::workload::WorkloadFile;
use clap::CommandFactory;

/// Prints a shell's completion script.
pub fn completions(shell: clap_complete::Shell) -> Result<(), Failure> {
    let mut page = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "dpcausal", &mut page);
    print(page)
}

/// Prints the manual: the command's page, then one section per subcommand.
pub fn man() -> Result<(), Failure> {
    let mut command = Arguments::command();
    command.build();
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone())
        .render(&mut page)
        .or_status(ExitStatus::Internal)?;
    for subcommand in command
        .get_subcommands()
        .filter(|c| !c.is_hide_set() && c.get_name() != "help")
    {
        let manual = clap_mangen::Man::new(subcommand.clone());
        manual
            .render_name_section(&mut page)
            .or_status(ExitStatus::Internal)?;
        manual
            .render_synopsis_section(&mut page)
            .or_status(ExitStatus::Internal)?;
        manual
            .render_options_section(&mut page)
            .or_status(ExitStatus::Internal)?;
    }
    print(page)
}

/// Prints the JSON Schema of a YAML format.
pub fn json_schema(format: DocumentFormat) -> Result<(), Failure> {
    let schema = match format {
        DocumentFormat::Schema => SchemaFile::json_schema(),
        DocumentFormat::Panel => PanelFile::json_schema(),
        DocumentFormat::Workload => WorkloadFile::json_schema(),
    };
    let mut text = serde_json::to_string_pretty(&schema).or_status(ExitStatus::Internal)?;
    text.push('\n');
    Destination::Stdout
        .write_text(&text)
        .or_status(ExitStatus::Internal)
}

fn print(page: Vec<u8>) -> Result<(), Failure> {
    Destination::Stdout
        .write(|out| out.write_all(&page))
        .or_status(ExitStatus::Internal)
}
