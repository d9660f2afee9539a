//! Target `openssl`: a provider for OpenSSL 3 of all operations that have a name there, as one shared object.
//!
//! What is printed are the networks in C, as for target `c`, and a table of what OpenSSL calls them. Everything that
//! programs reach through OpenSSL stands once in `runtime/openssl` and works on that table. Names are those that
//! manifests give (`openssl` of a parameter set).
//!
//! | file | what is printed there |
//! | --- | --- |
//! | `table` | the rows: what OpenSSL calls an operation, and of what kind it is there |
//! | `build_files` | Makefile, CMake project and README |

mod build_files;
mod table;
pub(crate) mod toolchain;

use crate::c::Options;
use crate::c::project::{MESSAGES, head, identifier, networks, shape};
use crate::project::{Files, KnownAnswer, OnOperation, is_supported};
use headrace_ir::Network;
use headrace_library::catalog::OperationSpec;
use headrace_library::manifest::OpensslName;
use headrace_library::sizes::Sizes;
use headrace_library::{PortSpec, Role};
use headrace_source::Diagnostic;

macro_rules! runtime {
    ($folder:literal: $($name:literal),* $(,)?) => {
        [$((concat!($folder, $name), include_str!(concat!("../../../../runtime/openssl/", $folder, $name)))),*]
    };
}

/// What handles the rows of the table.
const RUNTIME: [(&str, &str); 19] = runtime![
    "": "aead.c", "aead.h", "aead_parameters.c", "aead_records.c", "cipher.c", "cipher.h", "cipher_parameters.c", "digest.c",
    "elsewhere.c", "elsewhere.h", "feedback.c", "mac.c", "parameters.c", "parameters.h", "provider.c", "provider.h", "running.c", "served.h", "tls_records.c"
];
const TEST: [(&str, &str); 7] = runtime![
    "test/": "ciphers.c", "digests.c", "macs.c", "sealing.c", "test.c", "test.h", "wrong_use.c"
];

/// An operation once for all arguments under which OpenSSL has a name for it; none where it has no name. One with
/// arguments of its own is called after them.
pub fn offers(spec: &OperationSpec) -> Vec<OperationSpec> {
    let mut offers: Vec<OperationSpec> = Vec::new();
    if !is_supported(spec) {
        return offers;
    }
    for name in &spec.openssl {
        let ending: String = name
            .arguments
            .iter()
            .map(|(name, value)| format!("-{}-{value}", identifier(name).replace('_', "-")))
            .collect();
        let own = format!("{}{ending}", spec.name);
        match offers.iter_mut().find(|offer| offer.name == own) {
            Some(offer) => offer.openssl.push(name.clone()),
            None => {
                let mut offer = spec.with_arguments(&name.arguments);
                offer.inverse = spec.inverse.as_ref().map(|inverse| format!("{inverse}{ending}"));
                if let Some(bytes) = name.iv_bytes {
                    let is_nonce = |port: &&mut PortSpec| matches!(port.role, Role::Nonce | Role::Iv);
                    offer.inputs.iter_mut().filter(is_nonce).for_each(|port| port.sizes = Sizes::exactly(bytes));
                }
                if let Some(least) = name.least_tag_bytes {
                    offer.accept_tags_from(least);
                }
                offer.name = own;
                offer.openssl = vec![name.clone()];
                offers.push(offer);
            }
        }
    }
    offers
}

/// A project for operations of any parameter sets.
///
/// # Errors
///
/// What the target cannot compile, with its place.
pub fn of_operations(
    _: &str,
    _: &str,
    operations: &[(&OperationSpec, &Network)],
    _: &[KnownAnswer],
    options: &Options,
    on_operation: &OnOperation<'_>,
) -> Result<Files, Vec<Diagnostic>> {
    // A provider gets one message at a time, and has operations by the dozen: how fast they are is up to their loops.
    // Providers have one message at a time, so that there is one file of each network.
    let own = Options { many: false, brief: true, ..options.clone() };
    let described = |spec: &OperationSpec, network: &Network, called: shape::CalledNetwork| {
        debug_assert_eq!(called.part, shape::Part::All);
        shape::described(spec, network, called)
    };
    let mut files = networks(operations, &own, on_operation, &crate::c::project::network_prefix, &described)?.files;
    let of_messages = MESSAGES.iter().filter(|(path, _)| !path.contains("helpers"));
    files.extend(of_messages.map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())));
    files.extend(RUNTIME.map(|(path, text)| (format!("src/{path}"), text.as_bytes().to_vec())));
    files.extend(TEST.map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec())));
    let specs: Vec<&OperationSpec> = operations.iter().map(|(spec, _)| *spec).collect();
    files.insert("src/served.c".into(), table::served(&head(&options.command), &specs).into_bytes());
    build_files::add(&mut files, &options.command, &table::rows(&specs));
    Ok(files)
}

/// The first of the names.
fn first(name: &OpensslName) -> &str {
    name.name.split(':').next().unwrap_or_default()
}
