// SPDX-License-Identifier: Apache-2.0
#include "core/engine/verify/gradientchecks.h"

#include "core/base/cancel.h"
#include "core/engine/verify/probing.h"
#include "core/engine/verify/reversecourse.h"
#include "core/engine/verify/smallertape.h"
#include "core/ops/algebra.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace retro::engine
{

using base::Result;
using probing::Directions;
using tape::Bundle;
using tape::Id;
using tape::ModelTape;
using tensor::Tensor;

namespace
{

/// Score of the target with the floating inputs moved.
class WholeProbe
{
public:
    WholeProbe(const ModelTape& made, Id target, const Tensor& start, Directions& directions)
        : m_made(made), m_target(target), m_start(start)
    {
        for (std::size_t i = 0; i < made.model->graph().inputs().size(); ++i) {
            const auto& cell = made.tape.cell(static_cast<Id>(i));
            m_directions.push_back(cell.isTracked ? directions.like(cell.value.only()) : Tensor());
            m_size = std::max(m_size, cell.isTracked ? probing::magnitude(cell.value.only()) : 0);
        }
    }

    [[nodiscard]] bool moves() const
    {
        return std::ranges::any_of(m_directions, [](const Tensor& one) { return one.isValid(); });
    }

    /// The score where it is, without the signs of its terms.
    [[nodiscard]] double size() const
    {
        return probing::dotAbsolute(m_made.tape.cell(m_target).value, Bundle(m_start));
    }

    Result<double> score(double step) const
    {
        tape::Tape<Bundle> tape = m_made.tape;
        for (std::size_t i = 0; i < m_directions.size(); ++i) {
            const auto id = static_cast<Id>(i);
            tape.setLeaf(id, Bundle(probing::moved(tape.cell(id).value.only(), m_directions[i],
                                                   step * (m_size > 0 ? m_size : 1))));
        }
        const auto again = tape::recompute(std::move(tape));
        if (!again.ok()) {
            return again.error().asError();
        }
        return ops::algebra::dot(again->cell(m_target).value.only().contiguous(), m_start.contiguous());
    }

    /// ⟨direction, gradient⟩ per unit of step().
    Result<double> along() const
    {
        tape::Slots<Bundle> seed(m_made.tape.size());
        seed[m_target] = Bundle(m_start);
        const auto arrived = tape::skippingLoop<Bundle>(m_made.tape, std::move(seed));
        if (!arrived.ok()) {
            return arrived.error().asError();
        }
        double sum = 0;
        for (std::size_t i = 0; i < m_directions.size(); ++i) {
            if (m_directions[i].isValid() && (*arrived)[i]) {
                sum += probing::dotAll(Bundle(m_directions[i]), *(*arrived)[i]);
            }
        }
        return sum * (m_size > 0 ? m_size : 1);
    }

private:
    const ModelTape& m_made;
    Id m_target;
    const Tensor& m_start;
    std::vector<Tensor> m_directions;
    double m_size = 0;
};

/// Also of nodes that hand no gradient on and read what has one.
bool hasSurrogate(const ModelTape& made)
{
    const auto isTracked = [&made](Id id) { return made.tape.cell(id).isTracked; };
    for (Id id = static_cast<Id>(made.tape.leafCount()); id < made.tape.size(); ++id) {
        const bool counts = isTracked(id) || std::ranges::any_of(made.tape.cell(id).node.parents, isTracked);
        if (counts && probing::isSurrogate(made, id)) {
            return true;
        }
    }
    return false;
}

/// What central differences along one direction say of a slope.
struct Slopes
{
    double error = std::numeric_limits<double>::infinity(); ///< relative, of the step that agrees best
    bool isFinite = false;                                  ///< at one step, at least
    bool isSmooth = false;
    bool isRounding = false; ///< the step that agrees best is off by no more than scores are rounded
    bool isJump = false;     ///< the shorter the step, the larger the slope, down to the last step
    double last = std::numeric_limits<double>::infinity();
};

/// The score a step ahead, a step behind and between.
struct Scores
{
    double ahead = 0;
    double here = 0;
    double behind = 0;
    double size = 0; ///< of the score, without the signs of its terms
};

/// Adds what the difference over one step says; nothing where a score is not finite.
void addStep(const Scores& scores, double step, double along, Slopes& slopes)
{
    const double slope = (scores.ahead - scores.behind) / (2 * step);
    const double bend = std::abs(scores.ahead - 2 * scores.here + scores.behind) / step;
    if (!std::isfinite(slope) || !std::isfinite(bend)) {
        return;
    }
    slopes.isJump =
        std::abs(slope) > 3 * std::abs(slopes.last) && std::abs(slope) > probing::roundingOf(scores.size, step);
    slopes.last = slope;
    const double scale = std::max({std::isfinite(along) ? std::abs(along) : 0, std::abs(slope), 1e-30});
    slopes.isFinite = true;
    slopes.isSmooth = slopes.isSmooth || bend <= probing::kKink * scale;
    const double apart = std::abs(slope - along);
    if (std::isfinite(along) && apart / scale < slopes.error) {
        slopes.error = apart / scale;
        slopes.isRounding = apart <= probing::roundingOf(scores.size, step);
    }
}

/// Why differences say nothing against the rule; nullptr where they do.
const char* excuseOf(const Slopes& slopes)
{
    if (!slopes.isFinite) {
        return "the score is not finite next to the input, so it has no slope there; ";
    }
    if (slopes.error <= kPoorGradient) {
        return nullptr;
    }
    if (!slopes.isSmooth) {
        return "a kink lies in every step; ";
    }
    if (slopes.isRounding) {
        return "the differences drown in the rounding of the score; ";
    }
    return slopes.isJump ? "the score jumps within the shortest step; " : nullptr;
}

Result<PropertyResult> checkFrom(const ModelTape& made, Id target, const Tensor& start, std::uint64_t seed,
                                 const std::stop_token& stop)
{
    constexpr const char* kStatement = "the gradient is the slope of a central difference";
    Directions directions(seed);
    const WholeProbe probe(made, target, start, directions);
    if (hasSurrogate(made)) {
        return PropertyResult{"gradient", kStatement, PropertyState::NotApplicable,
                              "a table lookup or a rounding takes part, whose gradient is a surrogate"};
    }
    if (!probe.moves()) {
        return PropertyResult{"gradient", kStatement, PropertyState::NotApplicable, "no input is floating"};
    }
    RETRO_TRY(const double along, probe.along());
    RETRO_TRY(const double here, probe.score(0));
    Slopes slopes;
    for (const double step : {1e-3, 1e-4, 1e-5, 1e-6, 1e-7}) {
        RETRO_CHECK(base::checkStop(stop));
        RETRO_TRY(const double ahead, probe.score(step));
        RETRO_TRY(const double behind, probe.score(-step));
        addStep({ahead, here, behind, probe.size()}, step, along, slopes);
    }
    const std::string text = fmt::format("slope {:.6g} along a random direction", along);
    const std::string compared = fmt::format("{}, relative error {:.3g}", text, slopes.error);
    if (const char* excuse = excuseOf(slopes)) {
        return PropertyResult{"gradient", kStatement, PropertyState::NotApplicable,
                              excuse + (slopes.isFinite ? compared : text)};
    }
    return judged("gradient", kStatement, {slopes.error <= kPoorGradient ? "" : compared}, compared);
}

} // namespace

Result<PropertyResult> checkWhole(const ModelTape& made, Id target, const Tensor& start, std::uint64_t seed,
                                  const std::stop_token& stop)
{
    RETRO_TRY(PropertyResult whole, checkFrom(made, target, start, seed, stop));
    if (whole.state == PropertyState::Violated) {
        const DiffersFrom again = [&](const ModelTape& small, Id from, const Tensor& ones) -> Result<Counterexample> {
            RETRO_TRY(const PropertyResult one, checkFrom(small, from, ones, seed, stop));
            const bool isWrong = one.state == PropertyState::Violated;
            return isWrong ? Counterexample{one.detail, nodeAt(small, from)} : Counterexample();
        };
        const Counterexample smallest = withSmallest(made, target, {whole.detail, whole.node}, again);
        whole.detail = smallest.text;
        whole.node = smallest.node;
    }
    return whole;
}

} // namespace retro::engine
