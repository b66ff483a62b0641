// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/ids.h"

#include <QString>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace retro::views
{

/// What became of a property that was checked on the model on screen.
enum class Verdict : std::uint8_t { Held, Violated, NotApplicable };

/// A property of the tape (docs/tape.md) or of the engines.
struct CheckedProperty
{
    QString id;        ///< "P5", "gradient", "compiled"
    QString statement; ///< what it says, as the command line has it
    Verdict verdict = Verdict::Held;
    QString detail;    ///< what was compared; the smallest counterexample; why it does not apply
    base::NodeId node; ///< that the detail is about; invalid = the whole graph
};

/// What was found out about a node.
struct CheckedNode
{
    base::NodeId node;
    /// Its reverse rule against a central difference, relative; infinite where the rule gives what is not finite; none
    /// where it was not checked.
    std::optional<double> error;
    bool isKink = false; ///< the function bends here: the error says nothing
    QString note;        ///< why it was not checked; may be empty
    /// Its values in float against those in double: most floats between the two, and the largest difference over the
    /// largest value; none where there are no floating values.
    std::optional<std::uint64_t> ulps;
    double relative = 0;
    bool isSingular = false; ///< it has no finite slope here: there is nothing to compare with
    bool overflows = false;  ///< an element is not finite in float or in double alone
};

/// A slot of the tape after a step of the reverse pass: in the loop, and in the recursion that defines it.
struct ReverseSlot
{
    QString value;     ///< whose slot
    base::NodeId node; ///< that makes it; may be invalid (a constant)
    double loop = 0;   ///< Σ of what it holds
    double recursion = 0;
    bool isEqual = true; ///< to the last bit
};

/// A step of the reverse pass: the rule of a node ran, and what it added to.
struct ReverseStep
{
    base::NodeId node;
    std::vector<ReverseSlot> slotsAfter;

    [[nodiscard]] bool isEqual() const;
};

/// What verifying the model on screen gave; immutable, made on the engine thread. Nodes are those of the run's graph.
struct Verification
{
    std::vector<CheckedProperty> properties;
    std::vector<CheckedNode> nodes; ///< ascending by node
    /// The loop beside the recursion, in the order of the loop; empty where the recursion was not run.
    std::vector<ReverseStep> course;
    std::size_t cells = 0; ///< of the tape
    double seconds = 0;

    [[nodiscard]] std::size_t count(Verdict verdict) const;
    /// The entry of a node; null when nothing was found out about it.
    [[nodiscard]] const CheckedNode* find(base::NodeId node) const;
};

using VerificationPointer = std::shared_ptr<const Verification>;

} // namespace retro::views
