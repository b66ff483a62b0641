// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/ids.h"
#include "core/diagnosis/chart.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retro::diagnosis
{

/// How bad a finding is (docs/diagnosis.md).
enum class Level : std::uint8_t {
    Note,       ///< true and worth knowing, but healthy models do it
    Warning,    ///< beyond anything seen on healthy models, with a consequence for this explanation
    Difference, ///< a fact found against a reference that somebody asked for
    Error       ///< cannot be right for any model
};
/// "note", "warning", "difference", "error".
[[nodiscard]] std::string_view nameOf(Level level);

/// What a finding is about.
enum class PlaceKind : std::uint8_t { Node, Input, Value, Entry };

/// Where a finding is: a name for people and, where the pass has it, the node.
struct Place
{
    PlaceKind kind = PlaceKind::Node;
    std::string name;      ///< full name of a node, input or value; "entry 0 (/conv2/Conv)" of a composite
    base::NodeId node{};   ///< in the graph of the pass (an input's own id for inputs); invalid: it has none
    base::ValueId value{}; ///< in the graph of the pass; invalid: not one value alone
};

/// What can be done about a finding: the window carries it out, the command line types `option`.
struct Action
{
    std::string kind;                             ///< "go to node", "change rule", "choose target", …
    std::map<std::string, std::string> arguments; ///< "node", "rule", "target", …
    std::string option;                           ///< "--rule name:/dw/Conv=epsilon"; may be empty
};

/// An element, row or channel that shows what a finding says.
struct Evidence
{
    std::string name; ///< of a node or value
    std::vector<std::int64_t> index;
};

/// Something that a check found. The sentences have no full stop at the end of `what`.
struct Finding
{
    std::string id; ///< of the check: "flow.bias"
    Level level = Level::Note;
    double base = 1;   ///< of the score: 1 … 1.9 for notes, 2 … 2.9 for warnings, 2.7 and more for differences, 3
    double effect = 0; ///< 0 … 0.99
    double raised = 0; ///< added to the score: by what follows from this finding
    Place place;
    std::string what;   ///< what is so, with the number: "its bias is 80 % of the magnitude …"
    std::string means;  ///< what it means; a sentence or two
    std::string remedy; ///< what to do; a sentence without the option. May be empty.
    Action action;
    std::vector<std::pair<std::string, double>> numbers; ///< that prove it
    double threshold = 0;
    std::vector<Evidence> evidence;
    Chart chart;               ///< that shows it; of no kind where a number says all
    std::vector<Finding> also; ///< what follows from it

    /// By which findings are sorted: base + effect / 2 + raised.
    [[nodiscard]] double score() const;
    /// "flow" of "flow.bias".
    [[nodiscard]] std::string_view family() const;
    /// The number of that name; 0 when there is none.
    [[nodiscard]] double number(std::string_view name) const;
    /// `means`, then `remedy` with the option behind it.
    [[nodiscard]] std::string meaning() const;
    /// Place, sentence and id in one line: "/dw/Conv 97 % of Σ|R| … [flow.zero-denominator]".
    [[nodiscard]] std::string line() const;
};

/// The part of an id before its dot.
[[nodiscard]] std::string_view familyOf(std::string_view id);

} // namespace retro::diagnosis
