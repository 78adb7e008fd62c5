//! Names of modules and variants, and finding names in generated code.

/// Name of the module of a message: its name in snake case.
pub(crate) fn module(name: &str) -> String {
    let mut module = String::new();
    // "KRaft" counts as one word.
    for character in name.replace("KRaft", "Kraft").chars() {
        if character.is_ascii_uppercase() && !module.is_empty() {
            module.push('_');
        }
        module.push(character.to_ascii_lowercase());
    }
    module
}

/// Name of the variant of a metadata record, or of a record of groups by the name of its key.
pub(crate) fn variant(name: &str) -> &str {
    name.strip_suffix("Record").or(name.strip_suffix("Key")).unwrap_or(name)
}

/// Whether generated `lines` use the item or variable `name`, as opposed to a field of that name.
pub(crate) fn mentions(lines: &str, name: &str) -> bool {
    lines.match_indices(name).any(|(at, _)| {
        let before = lines[..at].chars().next_back();
        let rest = &lines[at + name.len()..];
        let after = rest.chars().next();
        let is_part = before.is_some_and(is_word) || after.is_some_and(is_word);
        let is_field =
            matches!(before, Some('.' | '"')) || (after == Some(':') && !rest.starts_with("::"));
        !is_part && !is_field
    })
}

const fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_named_in_snake_case() {
        assert_eq!(module("FetchRequest"), "fetch_request");
        assert_eq!(module("KRaftVersionRecord"), "kraft_version_record");
    }

    #[test]
    fn variables_are_told_from_fields_and_parts_of_names() {
        assert!(mentions("if version >= 3 {", "version"));
        assert!(mentions("Uuid::ZERO", "Uuid"));
        for code in ["self.version", "version: r.i16()?", "_version", "versions", "\"version\""] {
            assert!(!mentions(code, "version"), "{code}");
        }
    }
}
