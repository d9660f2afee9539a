//! Offload parts of projects. What a project in C has more where a device runs loops: kernels in a language for them, what runs
//! these, and lines of build files.

use crate::c::kernel::Items;
use crate::project::Files;
use std::fmt;

/// A language of kernels. `NAME` in its texts stands for the name of the project.
pub struct Dialect {
    /// The name of the language.
    pub name: &'static str,
    /// The file with the kernels of a network, path and text: what stands at its beginning, the prefix of the network, kernels.
    pub kernels: fn(&str, &str, &[Items]) -> (String, String),
    /// What a project ships with to run them.
    pub runtime: fn() -> Files,
    /// What a package of CMake needs that uses the library.
    pub(crate) needed_by_users: &'static str,
    /// What CMake does first.
    pub(crate) cmake_first: &'static str,
    /// What a library is linked with in CMake.
    pub(crate) cmake_links: &'static str,
    /// What a Makefile begins with.
    pub(crate) make_first: &'static str,
    /// Rules of a Makefile.
    pub(crate) make_rules: &'static str,
    /// Libraries of a program in a Makefile.
    pub(crate) make_libraries: &'static str,
    /// The same of a program that uses the library.
    pub(crate) libraries: &'static str,
    /// What a project needs to be built and run, as a sentence.
    pub(crate) needs: &'static str,
    /// Who compiles kernels, for the README.
    pub(crate) about: &'static str,
}

impl fmt::Debug for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// What a project needs that no device runs anything of.
pub(crate) const NEEDS: &str = "No heap, no global state, no dependency beyond the C library.";

impl Dialect {
    /// How users hand a device to a message.
    pub(crate) fn readme(&self) -> String {
        let own = self.about;
        format!(
            "
A device runs the wide loops of long messages, one work item for each iteration; everything else stays with the processor:

```c
char why[256];
struct headrace_device *device = headrace_device_open(NULL, why, sizeof why);
const struct headrace_helpers helpers = headrace_device_helpers(device);
/* …_message_helped(&context, &helpers, …) */
```

`src/headrace_device.h` says how a device is chosen (`HEADRACE_DEVICE`), and what is overwritten. {own}
A look-up in a table is an address that depends on what is looked up, on a device as on a processor.
"
        )
    }
}
