# SPDX-License-Identifier: Apache-2.0
# Prints public function declarations of a header that have no /// comment right above them (or trailing). Reads at
# namespace level and in the public part of classes. Left out: constructors, destructors, operators, overrides, getters
# (no parameters, up to one line, const or no more than a member), and second lines of a declaration.
FNR == 1 { documented = 0; hidden = 0; inBody = 0; isType = 0 }
{ line = $0; sub(/^[ \t]+/, "", line) }
line ~ /^private:|^protected:/ { hidden = 1 }
line ~ /^public:/ { hidden = 0 }
# A type at namespace level starts and ends in the first column; what is nested stays as hidden as its surroundings.
/^(class|struct|enum)[ \t]/ && !/;[ \t]*$/ { hidden = 0; isType = 1 }
/^{/ { inBody = !isType }
/^}/ { hidden = 0; isType = 0; inBody = 0 }
{
    continued = (previous ~ /[,(=&|?:+]$/ || previous ~ /^template/) && \
                previous !~ /^\/\/|^(public|private|protected):$/
    sub(/^\[\[nodiscard\]\] /, "", line)
    isFunction = line ~ /^[A-Za-z_:<>,\*& 0-9]+[ \*&][a-z][A-Za-z0-9]*\(.*/ && \
                 line !~ /^(return|if|for|while|else|case|switch|assert|using|delete|throw)[ (]/
    skipped = line ~ /override|operator|^extern template |= default|= delete|\(\) (const|&|const&|&&)( |;|$)/ || \
              line ~ /\(\) \{ return m_[A-Za-z]+; \}$|\/\/\//
    atScope = match($0, /^[ \t]*/) && (RLENGTH == 0 || RLENGTH == 4)
    if (isFunction && atScope && !inBody && !continued && !hidden && !skipped && !documented) {
        printf "%s:%d: no comment: %s\n", FILENAME, FNR, line
    }
}
{
    if (line ~ /^\/\/\//) documented = 1
    else if (line ~ /^(template|\[\[|#)/ || continued) documented = documented
    else if (isFunction && documented) documented = 1   # one comment may head declarations without blank lines
    else documented = 0
    if (line == "") documented = 0
    previous = line
}
