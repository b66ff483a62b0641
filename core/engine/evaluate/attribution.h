// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/evaluate/subject.h"
#include "core/engine/evaluate/units.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace retro::engine
{

/// Parameters of all methods; each reads its own.
struct AttributionOptions
{
    int integrationSteps = 32;      ///< integrated gradients
    int noiseSamples = 16;          ///< SmoothGrad
    double noise = 0.1;             ///< SmoothGrad: deviation, as a share of the input's range
    std::uint64_t seed = 1;         ///< of everything that is drawn
    int permutations = 25;          ///< Shapley sampling
    tensor::Tensor background = {}; ///< TreeSHAP: rows of features; invalid = what removed ones become
};

/// What a method says of an input.
struct Attributed
{
    tensor::Tensor values; ///< in the shape of the subject's input
    /// Further arrays, by name: "standard_error", "map".
    std::vector<std::pair<std::string, tensor::Tensor>> arrays = {};
    /// Further numbers, by name: "standard_error_largest", "score_of_baseline".
    std::vector<std::pair<std::string, double>> numbers = {};
    std::string how = {}; ///< for people: "25 orders of 64 patches"; empty = nothing to add
};

/// A way to say how much each element of the input matters for the target. Immutable.
class Attribution
{
public:
    virtual ~Attribution() = default;
    /// "lrp", "integrated_gradients", …
    [[nodiscard]] virtual std::string_view name() const = 0;
    /// What it asks of the model.
    [[nodiscard]] virtual Passes passes() const { return Passes::Relevance; }
    /// False when it needs inputs between tokens, or near them, which there are none of.
    [[nodiscard]] virtual bool takesTokens() const { return true; }
    /// Errors: those of its passes; Usage (a model that the method is not for).
    [[nodiscard]] virtual base::Result<Attributed> attribute(const Subject& subject, const Units& units,
                                                             const EvaluationProgress& progress = {}) const = 0;
};

using AttributionPointer = std::shared_ptr<const Attribution>;

/// The relevance of the subject's composite.
[[nodiscard]] AttributionPointer lrpAttribution();
/// x · gradient; of tokens, embedding · gradient summed over each embedding.
[[nodiscard]] AttributionPointer inputTimesGradient();
/// (x − 0) · the mean gradient on the way from 0 to x (Sundararajan et al. 2017), by the midpoint rule.
[[nodiscard]] AttributionPointer integratedGradients(int steps);
/// The mean gradient at x with Gaussian noise (Smilkov et al. 2017); `noise` times the range of x is its deviation.
[[nodiscard]] AttributionPointer smoothGrad(int samples, double noise, std::uint64_t seed);
/// What the score loses when a unit (a patch, a step, an element) is replaced (Zeiler and Fergus 2014), in equal parts
/// for its elements.
[[nodiscard]] AttributionPointer occlusion();
/// Shapley values of the units against the input with all units replaced, in equal parts for the elements of a unit: of
/// all coalitions where there are few units, else the mean over drawn orders (Castro et al. 2009) with its standard
/// error. What they add up to is the score less that of the baseline, in every order.
[[nodiscard]] AttributionPointer shapley(int permutations, std::uint64_t seed);
/// Exact interventional Shapley values of decision trees (Lundberg et al. 2020): of the raw score, before the
/// transform of the trees' operator, against the mean over the rows of `background` (invalid: the input with all units
/// replaced). Errors (Usage): the target is no sum of trees, or what stands before them mixes the features.
[[nodiscard]] AttributionPointer treeShap(const tensor::Tensor& background);

/// How Grad-CAM weighs channels.
enum class CamWeights : std::uint8_t {
    Mean,    ///< Grad-CAM (Selvaraju et al. 2017)
    Positive ///< Grad-CAM++ (Chattopadhay et al. 2018)
};
/// The weighted sum of the channels of a value (by name; empty = the last one with places before the target), where it
/// is positive, scaled to 0 … 1 and resized to the input as pytorch-grad-cam does; equal parts for the channels of the
/// input. Arrays: "map" (places of the input) and "raw" (places of the value, before all that). Errors (Usage): no such
/// value, one without places, another number of places than the input has.
[[nodiscard]] AttributionPointer gradCam(CamWeights weights, const std::string& value);

/// Names that makeAttribution() knows, in the order of the documentation, with what may follow: "gradcam[:VALUE]".
[[nodiscard]] std::vector<std::string> attributionNames();
/// A method by its name, and what follows it: "gradcam:conv5". Errors (Usage): unknown name (lists the known ones),
/// something behind a name that takes nothing.
[[nodiscard]] base::Result<AttributionPointer> makeAttribution(std::string_view name,
                                                               const AttributionOptions& options = {});

} // namespace retro::engine
