// SPDX-License-Identifier: Apache-2.0
#include "core/engine/verify/gradientchecks.h"

#include "core/base/cancel.h"
#include "core/engine/verify/reversecourse.h"
#include "core/engine/verify/smallertape.h"
#include "core/ops/algebra.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <utility>

namespace retro::engine
{

using base::Result;
using tape::Bundle;
using tape::Id;
using tape::ModelTape;
using tensor::Tensor;

namespace
{

/// One-sided differences that disagree by more than this share of their size see a kink.
constexpr double kKink = 1e-3;

bool isFloating(const Tensor& tensor) { return tensor.isValid() && tensor::isFloating(tensor.dtype()); }

double magnitude(const Tensor& tensor)
{
    return tensor.size() == 0 ? 0 : ops::algebra::sumAbsolute(tensor) / static_cast<double>(tensor.size());
}

/// Zeros but for the elements from `begin` to before `end`, in row-major order.
Tensor onlyBetween(const Tensor& tensor, std::int64_t begin, std::int64_t end)
{
    std::vector<double> values(static_cast<std::size_t>(tensor.size()), 0);
    for (std::int64_t i = begin; i < end; ++i) {
        values[static_cast<std::size_t>(i)] = tensor.at(i);
    }
    return Tensor::of<double>(tensor.shape(), values);
}

/// 1 at one element.
Tensor oneAt(const Tensor& like, std::int64_t element)
{
    return onlyBetween(Tensor::full(tensor::DType::Float64, like.shape(), 1), element, element + 1);
}

class Directions
{
public:
    explicit Directions(std::uint64_t seed) : m_engine(seed) {}

    /// Numbers in [−1, 1] of the shape and strides of `like`; invalid for what is not floating.
    Tensor like(const Tensor& like)
    {
        if (!isFloating(like)) {
            return {};
        }
        std::vector<double> values(static_cast<std::size_t>(like.size()));
        std::ranges::generate(values, [this] { return static_cast<double>(m_engine() >> 11) * 0x1p-52 - 1; });
        return Tensor::of<double>(like.shape(), values);
    }

private:
    std::mt19937_64 m_engine;
};

Tensor moved(const Tensor& x, const Tensor& direction, double step)
{
    return direction.isValid() ? ops::algebra::addScaled(x.contiguous(), direction, step) : x;
}

/// Sums over all tensors of a bundle that are valid in both.
double dotAll(const Bundle& a, const Bundle& b)
{
    double sum = 0;
    for (std::size_t k = 0; k < a.tensors.size(); ++k) {
        if (isFloating(a.tensors[k]) && isFloating(b.tensors[k])) {
            sum += ops::algebra::dot(a.tensors[k].contiguous(), b.tensors[k].contiguous());
        }
    }
    return sum;
}

double dotAbsolute(const Bundle& a, const Bundle& b)
{
    double sum = 0;
    for (std::size_t k = 0; k < a.tensors.size(); ++k) {
        if (isFloating(a.tensors[k]) && isFloating(b.tensors[k])) {
            sum +=
                ops::algebra::sumAbsolute(ops::algebra::multiply(a.tensors[k].contiguous(), b.tensors[k].contiguous()));
        }
    }
    return sum;
}

Bundle scaledDifference(const Bundle& a, const Bundle& b, double factor)
{
    Bundle result;
    for (std::size_t k = 0; k < a.tensors.size(); ++k) {
        const bool counts = isFloating(a.tensors[k]);
        result.tensors.push_back(
            counts ? ops::algebra::scale(ops::algebra::subtract(a.tensors[k].contiguous(), b.tensors[k].contiguous()),
                                         factor)
                   : Tensor());
    }
    return result;
}

/// One node moved along drawn directions of its tracked operands.
class NodeProbe
{
public:
    NodeProbe(const ModelTape& made, Id id, Directions& directions) : m_made(made), m_cell(made.tape.cell(id))
    {
        for (const Tensor& tensor : m_cell.value.tensors) {
            m_upstream.tensors.push_back(directions.like(tensor));
        }
        double size = 0;
        for (const Id parent : m_cell.node.parents) {
            const auto& operand = made.tape.cell(parent);
            m_directions.push_back(operand.isTracked ? directions.like(operand.value.only()) : Tensor());
            size = std::max(size, operand.isTracked ? magnitude(operand.value.only()) : 0);
        }
        m_step = 1e-6 * (size > 0 ? size : 1);
    }

    Result<void> measure(Id id, NodeGradient& result)
    {
        RETRO_TRY(const Bundle ahead, at(m_step));
        RETRO_TRY(const Bundle behind, at(-m_step));
        const Bundle slope = scaledDifference(ahead, behind, 0.5 / m_step);
        const Bundle rise = scaledDifference(ahead, m_cell.value, 1 / m_step);
        const Bundle fall = scaledDifference(m_cell.value, behind, 1 / m_step);
        const auto parts = tape::contributionsOf(m_made.tape, id, m_upstream);
        if (!parts.ok()) {
            return parts.error().asError();
        }
        const auto [sum, size] = along(*parts);
        const double measured = dotAll(m_upstream, slope);
        m_answers = {sum, measured};
        const double scale = std::max({size, dotAbsolute(m_upstream, slope), 1e-30});
        result.error = std::abs(measured - sum) / scale;
        const Bundle bend = scaledDifference(rise, fall, 1);
        result.isKink = dotAbsolute(m_upstream, bend) > kKink * scale;
        return {};
    }

private:
    Result<Bundle> at(double step) const
    {
        std::vector<Bundle> values;
        values.reserve(m_directions.size());
        std::vector<const Bundle*> operands;
        for (std::size_t i = 0; i < m_directions.size(); ++i) {
            const Bundle& operand = m_made.tape.cell(m_cell.node.parents[i]).value;
            if (m_directions[i].isValid()) {
                values.emplace_back(moved(operand.only(), m_directions[i], step));
                operands.push_back(&values.back());
            } else {
                operands.push_back(&operand);
            }
        }
        return m_cell.node.op->forward(operands, m_made.tape.payload());
    }

    /// ⟨direction, parts⟩ and the sum of its absolute terms. An operand that occurs twice has one part for both.
    std::pair<double, double> along(const std::vector<tape::Contribution<Bundle>>& parts) const
    {
        double sum = 0;
        double size = 0;
        for (const tape::Contribution<Bundle>& part : parts) {
            const auto at = std::ranges::find(m_cell.node.parents, part.parent) - m_cell.node.parents.begin();
            const Bundle direction(m_directions[static_cast<std::size_t>(at)]);
            sum += dotAll(direction, part.value);
            size += dotAbsolute(direction, part.value);
        }
        return {sum, size};
    }

public:
    /// An operand that occurs twice moves as one value does.
    void joinRepeated()
    {
        for (std::size_t i = 0; i < m_directions.size(); ++i) {
            const auto first = std::ranges::find(m_cell.node.parents, m_cell.node.parents[i]);
            m_directions[i] = m_directions[static_cast<std::size_t>(first - m_cell.node.parents.begin())];
        }
    }
    [[nodiscard]] bool moves() const
    {
        return std::ranges::any_of(m_directions, [](const Tensor& one) { return one.isValid(); });
    }

    /// The fewest elements that arrive and move while the rule stays wrong, as a text; empty where it is not wrong.
    Result<std::string> smallestCase(Id id)
    {
        RETRO_TRY(const bool isWrongAtAll, isWrong(id));
        if (!isWrongAtAll) {
            return std::string();
        }
        std::vector<std::string> places;
        for (std::size_t k = 0; k < m_upstream.tensors.size(); ++k) {
            RETRO_CHECK(
                addPlace(fmt::format("result {}{{}} receives", k), narrowed(id, m_upstream.tensors[k]), places));
        }
        for (std::size_t i = 0; i < m_directions.size(); ++i) {
            RETRO_CHECK(addPlace(fmt::format("operand {}{{}} moves", i),
                                 isRepeated(i) ? std::string() : narrowed(id, m_directions[i]), places));
        }
        RETRO_CHECK(isWrong(id)); // for the answers of the last case that stayed
        return fmt::format("{}: the rule answers {:.6g}, the difference {:.6g}", fmt::join(places, ", "),
                           m_answers.first, m_answers.second);
    }

private:
    /// `words` with what is left of a tensor in the place of {}; nothing when nothing of it is needed.
    static Result<void> addPlace(const std::string& words, const Result<std::string>& part,
                                 std::vector<std::string>& places)
    {
        if (!part.ok()) {
            return part.error();
        }
        if (!part->empty()) {
            places.push_back(fmt::format(fmt::runtime(words), *part));
        }
        return {};
    }

    [[nodiscard]] bool isRepeated(std::size_t i) const
    {
        const std::vector<Id>& parents = m_cell.node.parents;
        return std::find(parents.begin(), parents.begin() + static_cast<std::ptrdiff_t>(i), parents[i]) !=
               parents.begin() + static_cast<std::ptrdiff_t>(i);
    }

    Result<bool> isWrong(Id id)
    {
        joinRepeated();
        NodeGradient result;
        RETRO_CHECK(measure(id, result));
        return !result.isKink && !(*result.error <= kPoorGradient);
    }

    /// Puts `other` in a place if the rule is wrong with it, too.
    Result<bool> staysWrong(Id id, Tensor& place, Tensor other)
    {
        const Tensor before = std::exchange(place, std::move(other));
        RETRO_TRY(const bool isStillWrong, isWrong(id));
        if (!isStillWrong) {
            place = before;
        }
        return isStillWrong;
    }

    /// Takes elements of `place` away. Where those are that are left; empty where none is needed.
    Result<std::string> narrowed(Id id, Tensor& place)
    {
        if (!place.isValid() || place.size() == 0) {
            return std::string();
        }
        RETRO_TRY(const bool isNeedless, staysWrong(id, place, onlyBetween(place, 0, 0)));
        if (isNeedless) {
            return std::string();
        }
        RETRO_TRY(const auto left, halved(id, place));
        const auto [begin, end] = left;
        if (end - begin > 1) {
            return fmt::format(" at the {} elements from {} on", end - begin, placeText(place.shape(), begin));
        }
        RETRO_TRY(const bool isOne, staysWrong(id, place, oneAt(place, begin)));
        return fmt::format(" at {}{}", placeText(place.shape(), begin), isOne ? " alone, by 1," : " alone");
    }

    using Range = std::pair<std::int64_t, std::int64_t>;

    /// Takes halves of `place` away while the rule stays wrong; from where to where elements are left.
    Result<Range> halved(Id id, Tensor& place)
    {
        Range left{0, place.size()};
        for (bool isSmaller = true; isSmaller && left.second - left.first > 1;) {
            const std::int64_t middle = left.first + (left.second - left.first) / 2;
            RETRO_TRY(const bool isLow, staysWrong(id, place, onlyBetween(place, left.first, middle)));
            RETRO_TRY(const bool isHigh,
                      isLow ? false : staysWrong(id, place, onlyBetween(place, middle, left.second)));
            left = isLow ? Range{left.first, middle} : isHigh ? Range{middle, left.second} : left;
            isSmaller = isLow || isHigh;
        }
        return left;
    }

    const ModelTape& m_made;
    const tape::Cell<Bundle>& m_cell;
    std::pair<double, double> m_answers; ///< of the rule and of the difference, as measured last
    Bundle m_upstream;
    std::vector<Tensor> m_directions;
    double m_step = 1e-6;
};

/// True for a node whose reverse rule is a surrogate by design: its derivative is zero or does not exist.
bool isSurrogate(const ModelTape& made, Id id)
{
    return made.nodeOf[id].isValid() && !made.model->graph().isInput(made.nodeOf[id]) &&
           made.model->op(made.nodeOf[id]).structure().kind() == ops::StructureKind::TableLookup;
}

/// An id that takes one of several results of another: it computes nothing of its own.
bool isProjection(const ModelTape& made, Id id)
{
    const std::vector<Id>& parents = made.tape.cell(id).node.parents;
    return parents.size() == 1 && made.tape.cell(parents[0]).value.tensors.size() != 1;
}

bool counts(const NodeGradient& node) { return node.error && !node.isKink; }

/// NaN is worse than any number.
const NodeGradient* worstOf(const std::vector<NodeGradient>& nodes)
{
    const NodeGradient* worst = nullptr;
    for (const NodeGradient& node : nodes) {
        if (counts(node) && (worst == nullptr || !(*node.error <= *worst->error))) {
            worst = &node;
        }
    }
    return worst;
}

/// Finds the smallest case of the worst node, where that is wrong.
Result<void> shrinkWorst(const ModelTape& made, std::uint64_t seed, std::vector<NodeGradient>& nodes)
{
    const NodeGradient* worst = worstOf(nodes);
    if (worst == nullptr || *worst->error <= kPoorGradient) {
        return {};
    }
    Directions directions(seed);
    NodeProbe probe(made, worst->id, directions);
    probe.joinRepeated();
    RETRO_TRY(nodes[static_cast<std::size_t>(worst - nodes.data())].smallest, probe.smallestCase(worst->id));
    return {};
}

} // namespace

Result<std::vector<NodeGradient>> checkNodes(const ModelTape& made, std::uint64_t seed, const std::stop_token& stop,
                                             const StageProgress& progress)
{
    Directions directions(seed);
    std::vector<NodeGradient> results;
    for (Id id = static_cast<Id>(made.tape.leafCount()); id < made.tape.size(); ++id) {
        RETRO_CHECK(base::checkStop(stop));
        if (progress) {
            progress("gradients in double", id, made.tape.size());
        }
        const tape::Cell<Bundle>& cell = made.tape.cell(id);
        if (!cell.isTracked || isProjection(made, id)) {
            continue;
        }
        NodeGradient result{id, cell.node.name, made.model->graph().node(made.nodeOf[id]).op, {}, false, {}};
        NodeProbe probe(made, id, directions);
        probe.joinRepeated();
        if (isSurrogate(made, id)) {
            result.note = "comparisons choose rows of tables: its gradient is a surrogate, not a slope";
        } else if (probe.moves()) {
            RETRO_CHECK(probe.measure(id, result));
        } else {
            result.note = "none of its operands carries a gradient";
        }
        results.push_back(std::move(result));
    }
    RETRO_CHECK(shrinkWorst(made, seed, results));
    return results;
}

PropertyResult judgeNodes(const std::vector<NodeGradient>& nodes)
{
    const NodeGradient* worst = worstOf(nodes);
    const auto checked = std::ranges::count_if(nodes, counts);
    const auto kinks = std::ranges::count_if(nodes, &NodeGradient::isKink);
    constexpr const char* kStatement = "each operator's reverse rule is the transpose of its derivative";
    if (worst == nullptr) {
        return {"P8", kStatement, PropertyState::NotApplicable, "no node could be checked away from a kink"};
    }
    const std::string text =
        fmt::format("{} nodes checked, {} at a kink; the worst is {} ({}) with a relative error of {:.3g}", checked,
                    kinks, worst->node, worst->op, *worst->error);
    const std::string wrong = worst->smallest.empty() ? text : text + "; smallest case: " + worst->smallest;
    PropertyResult result = judged("P8", kStatement, {*worst->error <= kPoorGradient ? "" : wrong}, text);
    result.node = worst->node;
    return result;
}

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
            m_size = std::max(m_size, cell.isTracked ? magnitude(cell.value.only()) : 0);
        }
    }

    [[nodiscard]] bool moves() const
    {
        return std::ranges::any_of(m_directions, [](const Tensor& one) { return one.isValid(); });
    }

    Result<double> score(double step) const
    {
        tape::Tape<Bundle> tape = m_made.tape;
        for (std::size_t i = 0; i < m_directions.size(); ++i) {
            const auto id = static_cast<Id>(i);
            tape.setLeaf(id,
                         Bundle(moved(tape.cell(id).value.only(), m_directions[i], step * (m_size > 0 ? m_size : 1))));
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
                sum += dotAll(Bundle(m_directions[i]), *(*arrived)[i]);
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

bool hasSurrogate(const ModelTape& made)
{
    for (Id id = static_cast<Id>(made.tape.leafCount()); id < made.tape.size(); ++id) {
        if (made.tape.cell(id).isTracked && isSurrogate(made, id)) {
            return true;
        }
    }
    return false;
}

Result<PropertyResult> checkFrom(const ModelTape& made, Id target, const Tensor& start, std::uint64_t seed,
                                 const std::stop_token& stop)
{
    constexpr const char* kStatement = "the gradient is the slope of a central difference";
    Directions directions(seed);
    const WholeProbe probe(made, target, start, directions);
    if (hasSurrogate(made)) {
        return PropertyResult{"gradient", kStatement, PropertyState::NotApplicable,
                              "a table lookup takes part, whose gradient is a surrogate"};
    }
    if (!probe.moves()) {
        return PropertyResult{"gradient", kStatement, PropertyState::NotApplicable, "no input is floating"};
    }
    RETRO_TRY(const double along, probe.along());
    RETRO_TRY(const double here, probe.score(0));
    double best = std::numeric_limits<double>::infinity();
    bool isSmooth = false;
    for (const double step : {1e-3, 1e-4, 1e-5, 1e-6, 1e-7}) {
        RETRO_CHECK(base::checkStop(stop));
        RETRO_TRY(const double ahead, probe.score(step));
        RETRO_TRY(const double behind, probe.score(-step));
        const double scale = std::max({std::abs(along), std::abs(ahead - behind) / (2 * step), 1e-30});
        best = std::min(best, std::abs((ahead - behind) / (2 * step) - along) / scale);
        isSmooth = isSmooth || std::abs(ahead - 2 * here + behind) / step <= kKink * scale;
    }
    const std::string text =
        fmt::format("slope {:.6g} along a direction drawn by chance, relative error {:.3g}", along, best);
    if (best > kPoorGradient && !isSmooth) {
        return PropertyResult{"gradient", kStatement, PropertyState::NotApplicable,
                              "a kink lies in every step; " + text};
    }
    return judged("gradient", kStatement, {best <= kPoorGradient ? "" : text}, text);
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

namespace
{

/// Floats in order as integers.
std::int64_t ordinal(float value)
{
    const auto bits = std::bit_cast<std::int32_t>(value);
    return bits < 0 ? std::int64_t{std::numeric_limits<std::int32_t>::min()} - bits : bits;
}

UlpDistance distance(UlpDistance result, const Tensor& narrow, const Tensor& wide)
{
    const Tensor a = narrow.contiguous();
    const Tensor b = wide.contiguous();
    double difference = 0;
    double largest = 0;
    for (std::int64_t i = 0; i < a.size(); ++i) {
        const double exact = b.at(i);
        const auto gap = ordinal(static_cast<float>(a.at(i))) - ordinal(static_cast<float>(exact));
        result.most = std::max(result.most, static_cast<std::uint64_t>(gap < 0 ? -gap : gap));
        difference = std::max(difference, std::abs(a.at(i) - exact));
        largest = std::max(largest, std::abs(exact));
    }
    result.relative = largest > 0 ? difference / largest : difference;
    return result;
}

} // namespace

std::vector<UlpDistance> ulpDistances(const ModelTape& narrow, const ModelTape& wide)
{
    std::vector<UlpDistance> results;
    for (Id id = static_cast<Id>(narrow.tape.leafCount()); id < narrow.tape.size(); ++id) {
        if (!narrow.valueOf[id].isValid()) {
            continue;
        }
        const Tensor& a = narrow.tape.cell(id).value.only();
        const auto other = wide.model->graph().findValue(narrow.nameOf(id));
        const Id otherId = other ? wide.idOf[other->index()] : ModelTape::kNowhere;
        if (!isFloating(a) || otherId == ModelTape::kNowhere) {
            continue;
        }
        const Tensor& b = wide.tape.cell(otherId).value.only();
        if (b.shape() == a.shape()) {
            results.push_back(distance({narrow.nameOf(id), narrow.model->graph().node(narrow.nodeOf[id]).name}, a, b));
        }
    }
    return results;
}

} // namespace retro::engine
