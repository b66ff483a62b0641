// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/evaluate/subject.h"
#include "core/engine/evaluate/units.h"

#include <memory>
#include <string_view>

namespace retro::engine
{

/// Parameters of all methods; each reads its own.
struct AttributionOptions
{
    int integrationSteps = 32; ///< integrated gradients
    int noiseSamples = 16;     ///< SmoothGrad
    double noise = 0.1;        ///< SmoothGrad: deviation, as a share of the input's range
    std::uint64_t seed = 1;    ///< of everything that is drawn
};

/// A way to say how much each element of the input matters for the target. Immutable.
class Attribution
{
public:
    virtual ~Attribution() = default;
    /// "lrp", "integrated_gradients", …
    [[nodiscard]] virtual std::string_view name() const = 0;
    /// False when it needs inputs between tokens, or near them, which there are none of.
    [[nodiscard]] virtual bool takesTokens() const { return true; }
    /// In the shape of the subject's input. Errors: those of its passes.
    [[nodiscard]] virtual base::Result<tensor::Tensor> attribute(const Subject& subject, const Units& units) const = 0;
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

/// Names that makeAttribution() knows, in the order of the documentation.
[[nodiscard]] std::vector<std::string_view> attributionNames();
/// A method by its name. Errors (Usage): unknown name (lists the known ones).
[[nodiscard]] base::Result<AttributionPointer> makeAttribution(std::string_view name,
                                                               const AttributionOptions& options = {});

} // namespace retro::engine
