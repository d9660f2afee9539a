//! Known-answer tests with offload. What tests of projects do with a device: every known answer once more with its help, and
//! long messages, which must give what the processor gives alone.

use crate::c::project::shape::constant;
use crate::operation::{Function, Parameter, functions, parameters};
use headrace_library::Role;
use headrace_library::catalog::OperationSpec;
use std::fmt::Write as _;

/// The device in a test: what stands above all tests, what stands above the first that [`long`] makes, if it makes one,
/// and what main begins and ends with.
pub(crate) struct Harness {
    pub(crate) above: &'static str,
    pub(crate) above_long: &'static str,
    pub(crate) begin: &'static str,
    pub(crate) end: String,
}

/// The harness of a project.
pub(crate) fn harness(name: &str) -> Harness {
    Harness {
        above: ABOVE,
        above_long: ABOVE_LONG,
        begin: BEGIN,
        end: format!(
            "    printf(\"{name}: %llu iterations on %s\\n\", (unsigned long long)headrace_device_iterations(device), headrace_device_name(device));\n    if (headrace_device_error(device)[0] != '\\0') {{\n        printf(\"%s\\n\", headrace_device_error(device));\n        failed++;\n    }}\n    headrace_device_close(device);\n"
        ),
    }
}

const ABOVE: &str = "
static struct headrace_helpers on_device;
";

/// Messages that are long enough for several launches, of a length that most block lengths divide.
const ABOVE_LONG: &str = "
#define LONG_BYTES 737280u

static uint8_t long_in[LONG_BYTES], long_out[2][2 * LONG_BYTES], long_other[2][HEADRACE_ROLES][512];

static void fill(uint32_t seed) {
    for (size_t i = 0; i < LONG_BYTES; i++) {
        seed = seed * 1664525u + 1013904223u;
        long_in[i] = (uint8_t)(seed >> 24);
    }
}

static void compare_long(const char *operation, size_t n, const uint32_t *results, size_t (*bytes)[HEADRACE_ROLES],
                         uint64_t iterations) {
    bool same = results[0] == results[1] && memcmp(bytes[0], bytes[1], sizeof bytes[0]) == 0;
    same = same && memcmp(long_out[0], long_out[1], sizeof long_out[0]) == 0;
    same = same && memcmp(long_other[0], long_other[1], sizeof long_other[0]) == 0;
    if (same) {
        passed++;
    } else {
        failed++;
        printf(\"%s, %zu bytes: %u alone, %u on the device\\n\", operation, n, (unsigned)results[0], (unsigned)results[1]);
    }
    printf(\"%s, %zu bytes: result %u, %llu iterations on the device\\n\", operation, n, (unsigned)results[1],
           (unsigned long long)iterations);
}
";

const BEGIN: &str = "    char why[512] = \"\";
    struct headrace_device *const device = headrace_device_open(NULL, why, sizeof why);
    if (device == NULL) {
        printf(\"no device: %s\\n\", why);
        return 4;
    }
    headrace_device_least_bytes(device, 1);
    headrace_device_launch_bytes(device, 1 << 16);
    on_device = headrace_device_helpers(device);
";

/// `long_OP(device)`: long messages with the strings of answer number `answer` beside them; `None` where the operation
/// takes no input in messages.
pub(crate) fn long(op: &str, spec: &OperationSpec, answer: usize) -> Option<String> {
    let functions = functions(spec);
    spec.input(Role::Input)?;
    if !functions.contains(&Function::Helped) {
        return None;
    }
    let argument = |Parameter { constant: role, port, .. }: &Parameter<'_>| {
        let constant = constant(role);
        match port.role {
            Role::Input => ", long_in, n".to_owned(),
            Role::Output => format!(", long_out[at], sizeof long_out[at], &bytes[at][{constant}]"),
            role if role.is_output() => {
                format!(", long_other[at][{constant}], sizeof long_other[at][0], &bytes[at][{constant}]")
            }
            _ => format!(", GIVEN({constant}), GIVEN_BYTES({constant})"),
        }
    };
    let list = |function: Function| parameters(spec, function).iter().map(argument).collect::<String>();
    let mut text = format!(
        "\nstatic void long_{op}(const struct headrace_device *device) {{\n    static struct {op}_context context;\n    \
         static const size_t lengths[] = {{LONG_BYTES, LONG_BYTES / 45, LONG_BYTES - 7}};\n    \
         for (size_t i = 0; i < 3; i++) {{\n        const size_t n = lengths[i];\n        uint32_t results[2] = {{0, 0}};\n        \
         size_t bytes[2][HEADRACE_ROLES] = {{{{0}}, {{0}}}};\n        const uint64_t before = headrace_device_iterations(device);\n        \
         current = &{op}_answers[{answer}];\n        fill((uint32_t)n);\n        memset(long_out, 0, sizeof long_out);\n        \
         memset(long_other, 0, sizeof long_other);\n        for (int at = 0; at < 2; at++) {{\n            start({op}_secrets);\n"
    );
    if functions.contains(&Function::Key) {
        let _ = writeln!(text, "            results[at] = {op}_key(&context{});", list(Function::Key));
    }
    let _ = write!(
        text,
        "            if (results[at] == HEADRACE_OK) {{\n                \
         results[at] = {op}_message_helped(&context, at == 0 ? NULL : &on_device{});\n            }}\n        }}\n        \
         compare_long(\"{op}\", n, results, bytes, headrace_device_iterations(device) - before);\n    }}\n    {op}_clear(&context);\n}}\n",
        list(Function::Helped)
    );
    Some(text)
}
