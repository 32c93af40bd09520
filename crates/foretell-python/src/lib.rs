//! The native half of the Python package `foretell`: arguments → library request → Python objects. All knowledge is in the
//! library; signatures and documentation that users see are in `python/foretell`.

mod architecture;
mod asked;
mod bench;
mod callables;
mod convert;
mod errors;
mod foreign;
mod limits;
mod logging;
mod predict;
mod remote;
mod score;
mod search;
mod space;
mod study;
mod table;
mod train;
mod work;

use pyo3::prelude::*;

/// Bindings of the Rust library; use the package `foretell`.
#[pymodule]
mod _native {
    use super::*;
    use std::ffi::OsString;

    #[pymodule_export]
    use super::architecture::Architecture;
    #[pymodule_export]
    use super::asked::{asked_architecture, asked_space};
    #[pymodule_export]
    use super::bench::{bench, benchmarks};
    #[pymodule_export]
    use super::callables::Context;
    #[pymodule_export]
    use super::foreign::{Module, role_names, signs};
    #[pymodule_export]
    use super::predict::Predictor;
    #[pymodule_export]
    use super::remote::{crashed, work};
    #[pymodule_export]
    use super::score::{proxies, rank, register_proxy, score};
    #[pymodule_export]
    use super::search::{algorithms, plan, search, studies};
    #[pymodule_export]
    use super::space::{Space, presets};
    #[pymodule_export]
    use super::study::{Candidate, Study};
    #[pymodule_export]
    use super::train::{train, verify};

    /// Version of the package.
    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    /// Runs the command line, the name of the program first; the exit code.
    #[pyfunction]
    fn main(py: Python<'_>, words: Vec<OsString>) -> u8 {
        py.detach(|| foretell_cli::main_with(&words, Some(super::remote::connect)))
    }
}
