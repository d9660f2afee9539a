//! Layout: where lines end that are too long for one. It is settled last, of parts that are printed, and changes nothing but white
//! space.

/// Columns after which elements of a list go on in the next line.
const LIST: usize = 100;

/// Columns after which parameters do.
const PARAMETERS: usize = 110;

/// Columns that what goes on in another line is indented by.
const INDENTED: usize = 4;

/// The elements of an initialiser in lines, each with a comma behind it.
pub fn elements<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    let mut out = String::new();
    let mut column = usize::MAX;
    for element in texts {
        if column > LIST {
            out.push_str("\n    ");
            column = INDENTED;
        } else {
            out.push(' ');
        }
        column += element.len() + 2;
        out.push_str(element);
        out.push(',');
    }
    out
}

/// The beginning of a definition with the parameters behind it, as far as the bracket that closes them.
pub fn parameters(head: &str, parameters: &[String]) -> String {
    let mut out = head.to_owned();
    let mut column = head.len();
    for (at, parameter) in parameters.iter().enumerate() {
        if at > 0 {
            out.push(',');
            if column + parameter.len() > PARAMETERS {
                out.push_str("\n    ");
                column = INDENTED;
            } else {
                out.push(' ');
                column += 2;
            }
        }
        out.push_str(parameter);
        column += parameter.len();
    }
    if parameters.is_empty() {
        out.push_str("void");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_behind_what_reaches_their_end() {
        let bytes = vec!["0x00"; 18];
        assert_eq!(
            elements(bytes.into_iter()).lines().map(|line| line.matches("0x00").count()).collect::<Vec<_>>(),
            [0, 17, 1]
        );
        assert_eq!(parameters("f(", &[]), "f(void");
        let long = vec!["const uint8_t *restrict x".to_owned(); 5];
        assert_eq!(parameters("static void f(", &long).lines().count(), 2);
    }
}
