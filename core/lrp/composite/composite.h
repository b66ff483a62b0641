// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/execute/boundmodel.h"
#include "core/lrp/rules/rule.h"
#include "core/rewrite/rewrite.h"

#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

namespace retro::lrp
{

/// Selects nodes. Empty fields match everything; all given fields must match.
struct Matcher
{
    std::vector<std::string> ops; ///< operator types
    std::optional<ops::StructureKind> structure;
    std::string nameGlob; ///< * and ? over the node name
    std::string scope;    ///< the scope itself or anything below it
    /// Operator types: an operand that carries relevance comes from a node of one of them, through shape maps and
    /// through products and sums with what carries none (dropout, masks).
    std::vector<std::string> operandFrom;
    std::optional<std::size_t> operand; ///< the slot that operandFrom is about; any when not given
    bool firstWeight = false; ///< the first linear map (of `ops`, when given) on the path from an input, in node order
    std::string firstFrom;    ///< with firstWeight: the path from the graph input of this name; from any when empty
    bool isInside = false;    ///< with firstWeight, in the steps of an operator: all maps that read its operands
    /// For people: "op Conv", "first Conv", "first Conv from input \"depth\"", "structure sum of operands", "operand 0
    /// from Softmax".
    [[nodiscard]] std::string text() const;
};

/// Who wrote an entry of a composite.
enum class EntryOrigin : std::uint8_t {
    Builtin,
    File,    ///< a composite file
    Override ///< a rule that was put before a composite
};

/// One line of a composite.
struct CompositeEntry
{
    Matcher matcher;
    RulePointer rule;
    EntryOrigin origin = EntryOrigin::Builtin;
    std::string written{}; ///< what a person calls it: the text of a rule, the place in a file; unique in a composite
};

/// Which of the entries that people wrote are good for something, by CompositeEntry::written.
struct EntryUse
{
    std::set<std::string> matched; ///< a node that passes relevance
    std::set<std::string> chosen;  ///< for a node: no entry before it matched
};

/// An ordered list of (matcher → rule); the first match wins.
struct Composite
{
    std::string name;
    /// For people: why `auto` chose it; empty otherwise.
    std::string reason;
    std::vector<CompositeEntry> entries;
    /// True for gradient_x_input: the engine multiplies the relevance of each graph input by the input.
    bool timesInput = false;
    /// The start relevance is divided by the target's value (0/0 = 0): what flows is a gradient, and its product with
    /// any value the relevance there.
    bool dividesStart = false;
};

/// The rule of one node and why.
struct AssignedRule
{
    RulePointer rule;     ///< null for nodes that pass no relevance
    std::string matcher;  ///< text of the matcher that chose it
    bool isFirst = false; ///< it was chosen for the first layer
};

/// Rules of all nodes, by NodeId (operators only).
using RuleAssignment = std::vector<AssignedRule>;

/// A built-in composite with parameters, `name` or `name:key=value,…`; "auto" chooses by the model's structure. AttnLRP
/// of a model whose layers round to 16 bits has the form of gradients, unless rules of relevance stand before it.
/// Errors (Usage): unknown name (lists the known ones), unknown parameter (lists them), bad number.
[[nodiscard]] base::Result<Composite> builtinComposite(const std::string& specification,
                                                       const execute::BoundModel& model, bool hasRulesBefore = false);
/// Names of the built-in composites that exist, in the order of the documentation.
[[nodiscard]] std::vector<std::string> builtinNames();
/// Whether what flows under these rules is a gradient: every linear map gets the rule "gradient", and what else there
/// is are rules of gradients for other nodes. Not where the start is divided by the target's value, which makes a
/// relevance of it.
[[nodiscard]] bool isOfGradients(const Composite& composite);
/// A built-in composite with parameters as it is for any model. Errors (Usage): as builtinComposite(), and `auto`,
/// which is none without a model.
[[nodiscard]] base::Result<Composite> plainComposite(const std::string& specification);
/// A composite from its JSON text (docs/formats/composite.md). Errors (Input) name file, line and field.
[[nodiscard]] base::Result<Composite> parseComposite(const std::string& text, const std::string& where);
/// JSON text of a composite; parseComposite reads it back.
[[nodiscard]] std::string toJson(const Composite& composite);

/// Gives each node that passes relevance its rule. Errors (Usage): a matcher for the first layer from an input that the
/// model does not have. Nodes that get the rule "decomposed" are taken apart: those of
/// `fused` into their members, others by their function bodies. Errors (Input): a node that no entry matches, a rule
/// that is not defined for the node's structure, or a node that cannot be taken apart; the message names node, operator
/// and rule and says what to add. Stops between nodes (Cancelled). `use` (may be null) takes what became of the entries
/// that people wrote, inside nodes that were taken apart as well. `rewritten` (may be null) says which operators the
/// graph has in steps; the first layer of a composite is then the same as without.
[[nodiscard]] base::Result<RuleAssignment> assignRules(const Composite& composite, const execute::BoundModel& model,
                                                       std::span<const rewrite::FusedNode> fused = {},
                                                       const std::stop_token& stop = {}, EntryUse* use = nullptr,
                                                       const rewrite::Rewritten* rewritten = nullptr);

/// A sentence for each rule that was put before the composite and changes nothing, and for each entry of a file that
/// matches nothing. An entry of a file for a structure of known operators is for any model and may match nothing here.
[[nodiscard]] std::vector<std::string> unusedEntries(const Composite& composite, const EntryUse& use);

} // namespace retro::lrp
