//! Linker arguments of an extension module, so that `cargo build` works without maturin too.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
