// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/execute/forward.h"
#include "core/lrp/composite/composite.h"

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace retro::engine
{

/// A region of the inputs, as a person says it; docs/region.md.
struct RegionRequest
{
    std::vector<std::string> masks; ///< INPUT=FILE.npy, or FILE.npy where one input carries relevance
    std::string box;                ///< y0:y1,x0:x1, of the last axes (of a picture: rows and columns); ends excluded
    std::string tokens;             ///< 2-4,7: positions, ends included
    std::vector<tensor::Tensor> given; ///< per graph input, in place of the texts; may hold invalid ones
    /// Also what arrives at the inputs at all (RegionResult::arriving); as long as the pass itself.
    bool arrives = false;

    [[nodiscard]] bool isAsked() const { return !masks.empty() || !box.empty() || !tokens.empty() || !given.empty(); }
    /// "box 0:8,0:8; tokens 2-4"
    [[nodiscard]] std::string text() const;
};

/// Where the relevance of every element ends: R·w of an element is what it puts into the region.
struct RegionResult
{
    std::string text;                     ///< the region in words
    std::vector<tensor::Tensor> masks;    ///< per graph input; invalid = nothing of it is in the region
    std::vector<tensor::Tensor> weights;  ///< by ValueId, in the value's shape: w; invalid = zero
    std::vector<tensor::Tensor> arriving; ///< by ValueId: w of a region that is all inputs; empty where not asked for
    double total = 0;                     ///< Σ mask · R over the inputs
    double seconds = 0;                   ///< of the passes for the weights alone
};

/// What one value puts into the region.
struct RegionShare
{
    base::ValueId value;
    double total = 0;                ///< Σ R·w
    double relevance = 0;            ///< Σ R
    double weightSum = 0;            ///< Σ w
    std::optional<double> arrives;   ///< Σ R·w¹
    std::optional<std::size_t> axis; ///< channelAxisOf()
    std::vector<double> perChannel;  ///< Σ R·w for each index along the axis
};

/// The masks of a region for inputs of these types, in the run's type. `layout` as a model's card says it ("NHWC"); may
/// be empty. Errors: Usage (no such input, no such place), Input (file).
[[nodiscard]] base::Result<std::vector<tensor::Tensor>>
regionMasks(const RegionRequest& request, const execute::BoundModel& model, std::string_view layout);

/// A relevance pass of which a region is asked: rules and forward values are those of the pass.
struct RegionSource
{
    const std::shared_ptr<const execute::BoundModel>& model;
    const lrp::RuleAssignment& rules;
    std::span<const base::ValueId> targets;  ///< where relevance started, each once
    std::span<const tensor::Tensor> inputs;  ///< in the run's type
    const execute::SavedValues* saved;       ///< what the forward pass kept; null = it is made again
    std::span<const tensor::Tensor> known{}; ///< by ValueId: what else is known of it; may be empty
    bool timesInput = false;                 ///< Composite::timesInput
    std::stop_token stop{};
};

/// Carries masks forward through the rules: the weights of every value between inputs and targets, in the time of about
/// one forward pass. Asked several times, values that were not kept are made once.
class RegionAsker
{
public:
    /// Errors: Input (a rule that shares out by the relevance itself, by node), Cancelled.
    [[nodiscard]] static base::Result<RegionAsker> make(const RegionSource& source);
    RegionAsker(RegionAsker&&) noexcept;
    RegionAsker& operator=(RegionAsker&&) noexcept;
    ~RegionAsker();

    /// By ValueId: w for one mask per graph input (invalid = zero), in the inputs' shapes. Errors: Cancelled.
    [[nodiscard]] base::Result<std::vector<tensor::Tensor>> ask(std::span<const tensor::Tensor> masks,
                                                                const std::stop_token& stop = {}) const;
    /// The same for a region inside: weights of one value, of its shape. Errors: Cancelled.
    [[nodiscard]] base::Result<std::vector<tensor::Tensor>> askAt(base::ValueId value, const tensor::Tensor& weights,
                                                                  const std::stop_token& stop = {}) const;
    /// A forward value that the weights are made with, or a constant; invalid for others.
    [[nodiscard]] tensor::Tensor value(base::ValueId value) const;
    /// The mask of all inputs.
    [[nodiscard]] std::vector<tensor::Tensor> whole() const;

private:
    struct Data;
    explicit RegionAsker(std::unique_ptr<Data> data);
    std::unique_ptr<Data> m_data;
};

/// The axis of channels of a value: 1 (heads, where heads have been split off), the last one of tokens × features; none
/// of vectors.
[[nodiscard]] std::optional<std::size_t> channelAxisOf(const tensor::Shape& shape);

/// What each value of a region puts there, in the order of values; those that relevance or region do not reach are left
/// out. `relevance` by ValueId.
[[nodiscard]] std::vector<RegionShare>
regionShares(const RegionResult& region, std::span<const tensor::Tensor> relevance, const graph::Graph& graph);
/// Σ mask · R over the inputs.
[[nodiscard]] double regionTotal(std::span<const tensor::Tensor> masks, std::span<const tensor::Tensor> relevance,
                                 const graph::Graph& graph);

} // namespace retro::engine
