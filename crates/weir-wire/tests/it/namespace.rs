//! Testbeds of namespaces, which need root.

use std::io::Write;
use weir_wire::Error;
use weir_wire::testbed::{Testbed, TestbedLink};

/// Reports a skipped test on the terminal, bypassing the test runner, which would capture the
/// output.
pub fn skip(reason: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED: {reason}");
}

/// Two hosts joined by this link; skips the test without root or the programs.
pub fn build_or_skip(link: TestbedLink) -> Option<Testbed> {
    match Testbed::build(2, vec![link]) {
        Ok(testbed) => Some(testbed),
        Err(error @ (Error::Privilege(_) | Error::Tool { .. })) => {
            skip(&error.to_string());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Runs a future in the namespace of a host.
pub fn inside<T: Send + 'static, F: Future<Output = T>>(
    testbed: &Testbed,
    host: usize,
    work: impl FnOnce() -> F + Send + 'static,
) -> T {
    let namespace = testbed.namespace(host).expect("the host is there");
    let done = namespace.run(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(work())
    });
    done.expect("it does not panic")
}
