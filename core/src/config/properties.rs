//! Java's `.properties` text, and Kafka's environment variables.

use std::collections::BTreeMap;

use thiserror::Error;

/// Text that is no properties file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum PropertiesError {
    /// `\u` without four hexadecimal digits after it.
    #[error("line {line}: \\u must be followed by four hexadecimal digits")]
    BadEscape {
        /// The line, from 1, on which the entry starts.
        line: usize,
    },
}

/// Reads properties. Of a key given twice the later value counts.
pub fn parse(text: &str) -> Result<BTreeMap<String, String>, PropertiesError> {
    let mut properties = BTreeMap::new();
    for (line, entry) in logical_lines(text) {
        let (key, value) = split_entry(&entry);
        let unescape = |part| unescape(part).ok_or(PropertiesError::BadEscape { line });
        properties.insert(unescape(key)?, unescape(value)?);
    }
    Ok(properties)
}

/// Writes properties that [`parse`] and Java read back to the same map, one a line.
pub fn write(properties: &BTreeMap<String, String>) -> String {
    let mut text = String::new();
    for (key, value) in properties {
        for (i, c) in key.chars().enumerate() {
            let special = matches!(c, ' ' | '=' | ':') || i == 0 && matches!(c, '#' | '!');
            escape(c, special, &mut text);
        }
        text.push('=');
        for (i, c) in value.chars().enumerate() {
            escape(c, i == 0 && c == ' ', &mut text);
        }
        text.push('\n');
    }
    text
}

/// The properties that variables such as `KAFKA_LOG_DIRS` stand for, as Kafka's container images
/// read them: `KAFKA_` is cut, `___` means `-`, `__` means `_` and `_` means `.`.
///
/// Variables for start scripts, the JVM and logging, and those Kubernetes makes for a service
/// called `kafka`, are passed over.
pub fn from_kafka_env<N: AsRef<str>, V: Into<String>>(
    variables: impl IntoIterator<Item = (N, V)>,
) -> BTreeMap<String, String> {
    variables
        .into_iter()
        .filter_map(|(name, value)| Some((env_key(name.as_ref())?, value.into())))
        .collect()
}

/// Variables of the images that are no configs, without `KAFKA_`.
const NOT_CONFIGS: [&str; 19] = [
    "CLUSTER_ID",
    "DEBUG",
    "DEBUG_FLAG",
    "GC_LOG_OPTS",
    "HEAP_OPTS",
    "HOME",
    "JVM_PERFORMANCE_OPTS",
    "LOG4J_LOGGERS",
    "LOG4J_OPTS",
    "LOG4J_ROOT_LOGLEVEL",
    "MODE",
    "OPTS",
    "PID_FILE",
    "PORT",
    "SCALA_VERSION",
    "TOOLS_LOG4J_LOGLEVEL",
    "USER",
    "VERSION",
    "VERSIONS",
];

/// The same, by how they begin.
const NOT_CONFIG_PREFIXES: [&str; 4] = ["DEBUG_", "JMX_", "PORT_", "SERVICE_"];

fn env_key(name: &str) -> Option<String> {
    let name = name.strip_prefix("KAFKA_").filter(|name| !name.is_empty())?;
    if NOT_CONFIGS.contains(&name) || NOT_CONFIG_PREFIXES.iter().any(|p| name.starts_with(p)) {
        return None;
    }
    let key = name.to_ascii_lowercase().replace("___", "-").replace("__", "\0").replace('_', ".");
    Some(key.replace('\0', "_"))
}

/// Lines with continuations joined and comments and blanks dropped; each with its number.
fn logical_lines(text: &str) -> Vec<(usize, String)> {
    let mut lines = Vec::new();
    let mut open: Option<(usize, String)> = None;
    let text = text.replace("\r\n", "\n");
    for (index, line) in text.split(['\n', '\r']).enumerate() {
        let line = line.trim_start_matches(is_blank);
        if open.is_none() && (line.is_empty() || line.starts_with(['#', '!'])) {
            continue;
        }
        let (number, mut entry) = open.take().unwrap_or((index + 1, String::new()));
        let continued = (line.len() - line.trim_end_matches('\\').len()) % 2 == 1;
        if continued {
            entry.push_str(&line[..line.len() - 1]);
            open = Some((number, entry));
        } else {
            entry.push_str(line);
            lines.push((number, entry));
        }
    }
    lines.extend(open.filter(|(_, entry)| !entry.is_empty()));
    lines
}

/// Splits an entry at its first separator: `=`, `:` or blanks.
fn split_entry(entry: &str) -> (&str, &str) {
    let mut escaped = false;
    let end = entry.find(|c| {
        let ends = !escaped && (is_blank(c) || matches!(c, '=' | ':'));
        escaped = !escaped && c == '\\';
        ends
    });
    let (key, rest) = entry.split_at(end.unwrap_or(entry.len()));
    let rest = rest.trim_start_matches(is_blank);
    let value = rest.strip_prefix(['=', ':']).unwrap_or(rest);
    (key, value.trim_start_matches(is_blank))
}

const fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\x0c')
}

fn unescape(text: &str) -> Option<String> {
    let mut units: Vec<u16> = Vec::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let c = match c {
            '\\' => match chars.next() {
                None => break,
                Some('u') => {
                    let digits = chars.as_str().get(..4)?;
                    if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
                        return None;
                    }
                    units.push(u16::from_str_radix(digits, 16).ok()?);
                    chars = chars.as_str()[4..].chars();
                    continue;
                }
                Some('t') => '\t',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('f') => '\x0c',
                Some(other) => other,
            },
            plain => plain,
        };
        units.extend_from_slice(c.encode_utf16(&mut [0; 2]));
    }
    Some(String::from_utf16_lossy(&units))
}

fn escape(c: char, special: bool, text: &mut String) {
    match c {
        '\\' => text.push_str("\\\\"),
        '\t' => text.push_str("\\t"),
        '\n' => text.push_str("\\n"),
        '\r' => text.push_str("\\r"),
        '\x0c' => text.push_str("\\f"),
        ' '..='~' => {
            if special {
                text.push('\\');
            }
            text.push(c);
        }
        other => {
            for unit in other.encode_utf16(&mut [0; 2]) {
                text.push_str(&format!("\\u{unit:04X}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(&str, &str)]) {
        let expected = expected.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect();
        assert_eq!(parse(text), Ok(expected), "{text:?}");
    }

    #[test]
    fn entries() {
        check("", &[]);
        check("# a=b\n  ! c=d\n\n \t\n", &[]);
        check("a=b\nc:d\ne f\ng", &[("a", "b"), ("c", "d"), ("e", "f"), ("g", "")]);
        check("  a \t = \t b  ", &[("a", "b  ")]);
        check("a==b\nc=:d", &[("a", "=b"), ("c", ":d")]);
        check("a : = b", &[("a", "= b")]);
        check("=v", &[("", "v")]);
        check("a=1\r\nb=2\rc=3", &[("a", "1"), ("b", "2"), ("c", "3")]);
        check("a=1\na=2", &[("a", "2")]);
        check("listeners=PLAINTEXT://:9092", &[("listeners", "PLAINTEXT://:9092")]);
    }

    #[test]
    fn continuations() {
        check("a=b,\\\n   c,\\\r\n\td\ne=f", &[("a", "b,c,d"), ("e", "f")]);
        check("a=b\\\\\nc=d", &[("a", "b\\"), ("c", "d")]);
        check("a=b\\\n#c", &[("a", "b#c")]);
        check("a=b\\\n\nc=d", &[("a", "b"), ("c", "d")]);
        check("# comment \\\na=b", &[("a", "b")]);
        check("a=b\\", &[("a", "b")]);
    }

    #[test]
    fn escapes() {
        check("a\\ b\\=c\\:d = e", &[("a b=c:d", "e")]);
        check("a=\\t\\n\\r\\f\\q\\\"", &[("a", "\t\n\r\x0cq\"")]);
        check("a=\\u00e4\\uD83D\\uDE00", &[("a", "ä😀")]);
        check("a=\\ud83d!", &[("a", "\u{fffd}!")]);
        check("\\#a=b", &[("#a", "b")]);
        for bad in ["x=y\na=\\u12", "x=y\na=\\u12g4", "x=y\na=\\u+123", "x=y\na=\\uä12"] {
            assert_eq!(parse(bad), Err(PropertiesError::BadEscape { line: 2 }), "{bad:?}");
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let map: BTreeMap<String, String> = [
            ("plain", "PLAINTEXT://:9092,SSL://h:1"),
            (" k = : ", "  two leading blanks "),
            ("#!x", "#!x"),
            ("back\\slash", "C:\\dir\\"),
            ("tabs\t\n", "\r\n\x0c\t"),
            ("ä😀", "ü\u{0}\u{7f}"),
            ("", ""),
        ]
        .into_iter()
        .map(|(k, v)| (k.to_owned(), v.to_owned()))
        .collect();
        let text = write(&map);
        assert!(text.is_ascii());
        assert_eq!(parse(&text), Ok(map));
        assert!(text.contains("plain=PLAINTEXT://:9092,SSL://h:1\n"));
    }

    #[test]
    fn arbitrary_text_never_panics() {
        let alphabet = ['\\', 'u', '0', 'a', '=', ' ', '\n', '\r', '#', 'ä', ':'];
        let mut state: u64 = 1;
        for _ in 0..20_000 {
            let text: String = (0..12)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    alphabet[(state >> 33) as usize % alphabet.len()]
                })
                .collect();
            if let Ok(map) = parse(&text) {
                assert_eq!(parse(&write(&map)), Ok(map), "{text:?}");
            }
        }
    }

    #[test]
    fn environment() {
        let env = from_kafka_env([
            ("KAFKA_NODE_ID", "3"),
            ("KAFKA_LOG_DIRS", "/data"),
            ("KAFKA_A__B___C_D", "x"),
            ("KAFKA_HEAP_OPTS", "-Xmx1g"),
            ("KAFKA_JMX_PORT", "9999"),
            ("KAFKA_PORT_9092_TCP_ADDR", "10.0.0.1"),
            ("KAFKA_VERSION", "4.4.0"),
            ("KAFKA_", "x"),
            ("PATH", "/bin"),
        ]);
        let expected = [("a_b-c.d", "x"), ("log.dirs", "/data"), ("node.id", "3")];
        assert!(env.iter().map(|(k, v)| (k.as_str(), v.as_str())).eq(expected));
    }
}
