// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/recordfwd.h"
#include "core/base/result.h"
#include "core/tensor/npz.h"
#include "core/trace/run.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace retro::diagnosis
{
struct Finding;
}

namespace retro::engine
{

/// One of two things that are compared: a recorded run, or relevance that another tool left by value name.
struct ComparedSide
{
    std::string name;                        ///< file name, for people
    std::shared_ptr<const trace::Run> run;   ///< null for tensors alone
    tensor::NamedTensors tensors;            ///< relevance by value name, when there is no run
    std::vector<std::string> skipped = {};   ///< what the file holds besides arrays that can be relevance, with reasons
    std::vector<std::string> unmatched = {}; ///< arrays that were not read: no value of the run has their name
    /// Of tensors: the rules that the other tool was set to, by NodeId of the run that they are compared with; empty
    /// when nobody knows.
    std::vector<trace::NodeRule> rules = {};
};

/// Reads a `.retro` run or an `.npz` of arrays by value name; what is no floating-point array is listed and passed
/// over. Of arrays that will be compared with the run `other`, only those are read that can be. Errors: Input, Usage
/// (another ending).
[[nodiscard]] base::Result<ComparedSide> readCompared(const std::filesystem::path& path,
                                                      const trace::Run* other = nullptr);

/// Relevance of every value of a run at its end, by ValueId; invalid where none arrived or it is no longer kept. For
/// gradient × input the inputs' gradients are multiplied, as in the files of `explain`.
[[nodiscard]] std::vector<tensor::Tensor> finalRelevance(const trace::Run& run);

/// How the relevance of one value differs between the sides.
struct ValueDifference
{
    base::ValueId value; ///< of the leading graph
    std::string name;
    double sumA = 0;
    double sumB = 0;
    double largest = 0;              ///< largest |a − b|; infinite where shapes or finiteness differ
    double scale = 0;                ///< largest |a| or |b|
    double cosine = 1;               ///< of a and b; 1 when both are zero
    std::vector<std::int64_t> index; ///< where the difference is largest
    double a = 0;                    ///< there
    double b = 0;
    std::string fault; ///< shapes that differ, in words; else empty
    std::string note;  ///< how the sides were made comparable, in words; else empty
    /// largest / scale; 0 when both are zero everywhere.
    [[nodiscard]] double relative() const { return largest == 0 ? 0 : largest / scale; }
};

/// A node that may have handed on what the sides do not agree on.
struct PartingNode
{
    base::NodeId node;
    std::string name;
    std::string op;
    std::string ruleA; ///< "epsilon 1e-06"; empty when the side has no rules
    std::string ruleB;
    std::string formulaA; ///< lrp::formulaOf(); may be empty
    std::string formulaB;
};

/// The first value, on the way from the target to the inputs, whose relevance differs, and who handed it on.
struct Parting
{
    ValueDifference value;
    bool isStart = false; ///< relevance starts there, and already differs
    /// Every node between the value and the nearest values on the way to the target that agree; those whose rules
    /// differ first, else from the target on.
    std::vector<PartingNode> nodes;
    std::vector<std::string> agreeing; ///< those nearest values, from the target on
    bool isNarrowed = true; ///< all nodes hand on directly what agrees; false: values between them are not compared
    /// Where relevance starts, when the way to it meets no value that agrees: the start may differ, too. Else empty.
    std::string unknownStart;
};

/// What the sides have in common and where they part.
struct Comparison
{
    bool sameStructure = true;           ///< both are runs of graphs with one structural hash: matched by position
    double tolerance = 0;                ///< relative difference up to which values agree
    std::vector<ValueDifference> values; ///< on both sides, from the target to the inputs
    std::vector<std::string> onlyA;      ///< values with relevance on one side alone
    std::vector<std::string> onlyB;
    std::vector<std::string> unmatchedA; ///< arrays of a side of tensors whose name no value of the model has
    std::vector<std::string> unmatchedB;
    std::vector<std::string> skippedA; ///< ComparedSide::skipped
    std::vector<std::string> skippedB;
    std::optional<Parting> parting;          ///< nothing: they agree
    std::vector<std::string> differentFacts; ///< of two runs: "composite: epsilon ↔ epsilon_plus"
};

/// Compares relevance value by value. Runs of graphs with one structural hash are matched by position in the graph, all
/// others by value name (file names of docs/cli.md count, too). Errors: Usage (no side is a run), Input (nothing in
/// common), Cancelled.
[[nodiscard]] base::Result<Comparison> compare(const ComparedSide& a, const ComparedSide& b, double tolerance = 1e-5,
                                               const std::stop_token& stop = {});

/// What is said of a value in JSON and CSV.
[[nodiscard]] const base::Fields<ValueDifference>& valueFields();

/// A comparison as `compare --json` and Python give it, in that order; what is not finite is null, as JSON has no word
/// for it. `differences`: what differs in what was asked; null leaves it out.
[[nodiscard]] nlohmann::ordered_json comparisonJson(const Comparison& comparison,
                                                    const std::vector<diagnosis::Finding>* differences = nullptr);

} // namespace retro::engine
