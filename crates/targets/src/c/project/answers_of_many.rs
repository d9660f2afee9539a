//! Known-answer tests for multi-buffer calls. The part of a test that gives many messages at once: the known answers, and long
//! messages of many lengths, which must give what they give one by one, with helpers and without.

use super::shape::{Function, Parameter, constant, functions, parameters};
use headrace_library::catalog::OperationSpec;
use std::fmt::Write as _;

/// What the functions below share.
pub(super) const HARNESS: &str = "
enum { MANY = 37, LONGEST = 1 << 12 };

static const uint8_t *many_given[HEADRACE_ROLES][MANY];
static size_t many_given_bytes[HEADRACE_ROLES][MANY];
static uint8_t *many_got[HEADRACE_ROLES][MANY];
static size_t many_room[HEADRACE_ROLES][MANY], many_got_bytes[HEADRACE_ROLES][MANY];
static uint32_t many_results[MANY];
static uint8_t many_inputs[MANY][LONGEST], many_outputs[HEADRACE_ROLES][MANY][2 * LONGEST];

/* As many messages as there are places, from an answer on. */
static void start_many(const struct answer *answers, size_t n_answers, size_t first) {
    memset(many_outputs, 0xa5, sizeof many_outputs);
    memset(many_got_bytes, 0, sizeof many_got_bytes);
    for (int role = 0; role < HEADRACE_ROLES; role++) {
        for (size_t i = 0; i < MANY; i++) {
            const struct headrace_bytes string = answers[(first + i) % n_answers].strings[role];
            many_given[role][i] = string.bytes;
            many_given_bytes[role][i] = string.n_bytes;
            many_got[role][i] = many_outputs[role][i];
            many_room[role][i] = sizeof many_outputs[role][i];
        }
    }
}

static void judge_many(const char *operation, const struct answer *answers, size_t n_answers, size_t first) {
    for (size_t i = 0; i < MANY; i++) {
        current = &answers[(first + i) % n_answers];
        for (int role = HEADRACE_SECRET_NONCE_OUT; role < HEADRACE_ROLES; role++) {
            memcpy(got[role], many_outputs[role][i], sizeof many_outputs[role][i]);
            got_bytes[role] = many_got_bytes[role][i];
        }
        judge(operation, many_results[i]);
    }
}

/* The input becomes long. */
static void lengthen_many(size_t block) {
    for (size_t i = 0; i < MANY; i++) {
        for (size_t at = 0; at < LONGEST; at++) {
            many_inputs[i][at] = (uint8_t)(at * 7 + i * 13 + (at >> 8));
        }
        many_given[HEADRACE_INPUT][i] = many_inputs[i];
        many_given_bytes[HEADRACE_INPUT][i] = i * 1103 % LONGEST / block * block;
    }
}

/* Helpers that are all the same thread, for work of any size; parts are done from the last to the first. */
static void help(const struct headrace_helpers *helpers, uint32_t n_parts, void (*work)(void *job, uint32_t part), void *job) {
    (void)helpers;
    while (n_parts != 0) {
        work(job, --n_parts);
    }
}

static void rest(const struct headrace_helpers *helpers) {
    (void)helpers;
}

static const struct headrace_helpers helpers = {NULL, 3, 0, help, rest};

/* Whether a message gave what it gives alone. */
static void compare_many(const char *operation, size_t i, uint32_t result) {
    bool right = result == many_results[i];
    for (int role = HEADRACE_SECRET_NONCE_OUT; role < HEADRACE_ROLES; role++) {
        right = right && got_bytes[role] == many_got_bytes[role][i] &&
                memcmp(got[role], many_outputs[role][i], got_bytes[role]) == 0;
    }
    if (right) {
        passed++;
    } else {
        failed++;
        printf(\"%s: message %zu is another one alone\\n\", operation, i);
    }
}
";

/// A function that tests `many` with so many answers; `None` where an operation does not have it.
pub(super) fn of_operation(op: &str, spec: &OperationSpec, n_answers: usize) -> Option<String> {
    let functions = functions(spec);
    if !functions.contains(&Function::Many) {
        return None;
    }
    let listed = |one: bool| -> String {
        let argument = |Parameter { constant: role, port, .. }: &Parameter<'_>| {
            let constant = constant(role);
            match (port.role.is_output(), one) {
                (true, false) => format!(", many_got[{constant}], many_room[{constant}], many_got_bytes[{constant}]"),
                (false, false) => format!(", many_given[{constant}], many_given_bytes[{constant}]"),
                (true, true) => format!(", got[{constant}], sizeof got[0], &got_bytes[{constant}]"),
                (false, true) => format!(", many_given[{constant}][i], many_given_bytes[{constant}][i]"),
            }
        };
        parameters(spec, Function::Many).iter().map(argument).collect()
    };
    let key = |indent: &str| match functions.contains(&Function::Key) {
        true => format!(
            "{indent}(void){op}_key(&contexts[i], many_given[HEADRACE_KEY][i], many_given_bytes[HEADRACE_KEY][i]);\n"
        ),
        false => String::new(),
    };
    let keys = match functions.contains(&Function::Key) {
        true => format!("        for (size_t i = 0; i < MANY; i++) {{\n{}        }}\n", key("            ")),
        false => String::new(),
    };
    let all = format!("{keys}        (void){op}_many(contexts, MANY{}, many_results);\n", listed(false));
    let mut text = String::new();
    let _ = write!(
        text,
        "\nstatic void test_{op}_many(void) {{\n    static struct {op}_context contexts[MANY];\n    \
         for (size_t first = 0; first < {n_answers}; first += MANY) {{\n        start_many({op}_answers, {n_answers}, first);\n{all}        \
         judge_many(\"{op}, many\", {op}_answers, {n_answers}, first);\n    }}\n    \
         {{\n        start_many({op}_answers, {n_answers}, 0);\n        lengthen_many({0}u);\n{all}    }}\n    \
         for (size_t i = 0; i < MANY; i++) {{\n        memset(got_bytes, 0, sizeof got_bytes);\n{2}        \
         compare_many(\"{op}, many\", i, {op}_message(&contexts[i]{1}));\n{2}        \
         memset(got_bytes, 0, sizeof got_bytes);\n        \
         compare_many(\"{op}, helped\", i, {op}_message_helped(&contexts[i], &helpers{1}));\n        {op}_clear(&contexts[i]);\n    }}\n}}\n",
        spec.block_bytes.unwrap_or(1),
        listed(true),
        key("        ")
    );
    Some(text)
}
