// SPDX-License-Identifier: Apache-2.0
#include "core/engine/verify/rewritechecks.h"

#include "core/base/cancel.h"
#include "core/engine/input/fittedinput.h"
#include "core/engine/model/binding.h"
#include "core/engine/verify/gradientchecks.h"
#include "core/engine/verify/tapechecks.h"
#include "core/engine/verify/targettape.h"
#include "core/execute/forward.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <random>

namespace retro::engine
{

using base::Result;
using rewrite::RewriteName;
using rewrite::RewriteOptions;
using tape::Bundle;
using tape::Id;
using tensor::Tensor;

namespace
{

/// Constants of a file are rounded to float32, and a rewrite may put the exact number in their place.
constexpr double kMostDeviation = 1e-6;

constexpr const char* kRewriteStatement =
    "behind this rewrite P5 to P7 hold, and outputs and gradient are those of the graph before it";

/// They open a way for gradients where there was none: the others are compared behind them.
constexpr std::array kOpening{&RewriteOptions::dequantise, &RewriteOptions::lookUpOneHot, &RewriteOptions::floatInputs};

bool isOpening(const RewriteName& name) { return std::ranges::find(kOpening, name.option) != kOpening.end(); }

/// Normal numbers in the shape of `like`.
Tensor seedLike(const Tensor& like, std::uint64_t seed)
{
    std::mt19937_64 random(seed);
    std::normal_distribution<double> draw;
    std::vector<double> numbers(static_cast<std::size_t>(like.size()));
    std::ranges::generate(numbers, [&] { return draw(random); });
    return Tensor::of<double>(like.shape(), numbers).to(like.dtype());
}

/// The largest difference over the largest of `b`; 0 for two that are nothing.
double deviation(const Tensor& a, const Tensor& b)
{
    const Tensor& shown = a.isValid() ? a : b;
    const auto at = [](const Tensor& t, std::int64_t i) { return t.isValid() ? t.at(i) : 0.0; };
    double most = 0;
    double scale = 1e-300;
    for (std::int64_t i = 0; shown.isValid() && i < shown.size(); ++i) {
        const double difference = std::abs(at(a, i) - at(b, i));
        most = std::isnan(difference) && !std::isnan(at(b, i)) ? INFINITY : std::max(most, difference);
        scale = std::max(scale, std::abs(at(b, i)));
    }
    return most / scale;
}

/// A graph with what a seed at its target gives.
struct Seeded
{
    TargetTape subject;
    std::vector<Bundle> slots;
};

class Checker
{
public:
    Checker(const LoadedModel& model, const std::vector<Tensor>& inputs, const TargetRequest& target,
            std::uint64_t seed, const std::stop_token& stop)
        : m_model(model), m_inputs(inputs), m_target(target), m_seed(seed), m_stop(stop)
    {
        m_options = rewrite::noRewrites();
        m_options.passThrough = model.rewritten.options.passThrough;
        for (const RewriteName& name : rewrite::rewriteNames()) {
            m_options.*name.option = isOpening(name) && hasChanged(name);
        }
    }

    Result<PropertyResults> run()
    {
        PropertyResults results;
        for (const RewriteName& name : rewrite::rewriteNames()) {
            if (hasChanged(name)) {
                const bool isQuantised = name.option == &RewriteOptions::dequantise;
                RETRO_TRY(results.emplace_back(), isQuantised       ? checkLevels(name)
                                                  : isOpening(name) ? checkFirstFloats(name)
                                                                    : checkNext(name));
            }
        }
        return results;
    }

private:
    [[nodiscard]] bool hasChanged(const RewriteName& name) const
    {
        return std::ranges::any_of(m_model.rewritten.steps, [&](const rewrite::RewriteStep& step) {
            return !step.isNote && step.name == name.name;
        });
    }

    /// The inputs as a graph with other rewrites takes them.
    [[nodiscard]] std::vector<Tensor> inputsFor(const graph::Graph& graph) const
    {
        std::vector<Tensor> inputs = m_inputs;
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            const auto& given = m_model.graph()->value(m_model.graph()->inputs()[i]).given;
            const bool isWhole = given && !tensor::isFloating(graph.value(graph.inputs()[i]).dtype);
            inputs[i] = isWhole && tensor::isFloating(inputs[i].dtype()) ? numbersOf(inputs[i], *given) : inputs[i];
        }
        return inputs;
    }

    /// All outputs in double, of the graph with these rewrites.
    Result<std::vector<Tensor>> outputsWith(const RewriteOptions& options) const
    {
        LoadedModel changed(m_model);
        RETRO_TRY(changed.rewritten, rewrite::rewrite(m_model.rewritten.before, options, m_stop));
        std::vector<Tensor> wide = inputsFor(*changed.graph());
        RETRO_TRY(const auto bound, bindModel(changed, wide, execute::Precision::Double, nullptr, m_stop));
        for (Tensor& input : wide) {
            input = tensor::isFloating(input.dtype()) ? input.to(tensor::DType::Float64) : input;
        }
        RETRO_TRY(execute::ForwardResult run, execute::forward(bound, wide, execute::SavePolicy::Nothing, m_stop));
        return std::move(run.outputs);
    }

    /// No gradient passes levels: the outputs alone can be compared.
    Result<PropertyResult> checkLevels(const RewriteName& name) const
    {
        RewriteOptions closed = m_options;
        closed.*name.option = false;
        const Result<std::vector<Tensor>> before = outputsWith(closed);
        if (!before.ok()) { // an operator that is known by what it stands for alone
            RETRO_CHECK(base::checkStop(m_stop));
            return PropertyResult{std::string(name.name), kRewriteStatement, PropertyState::NotApplicable,
                                  "the graph before it cannot be run: " + before.error().message};
        }
        RETRO_TRY(const std::vector<Tensor> after, outputsWith(m_options));
        Counterexample wrong;
        double most = 0;
        for (std::size_t k = 0; k < after.size(); ++k) {
            most = std::max(most, deviation(after[k], (*before)[k]));
            if (most > kMostDeviation && wrong.text.empty()) {
                const auto output = m_model.rewritten.before->outputs()[k];
                wrong.text = fmt::format("the output {} differs by {:.3g} of its largest element",
                                         m_model.rewritten.before->value(output).name, most);
            }
        }
        return judged(
            std::string(name.name), kRewriteStatement, wrong,
            fmt::format("outputs differ by at most {:.2g} of the largest; gradients pass behind it alone", most));
    }

    /// The graph with these rewrites.
    Result<Seeded> seeded(const RewriteOptions& options, FirstTracked first = FirstTracked::FirstFloatsIfNeeded) const
    {
        LoadedModel changed(m_model);
        RETRO_TRY(changed.rewritten, rewrite::rewrite(m_model.rewritten.before, options, m_stop));
        RETRO_TRY(TargetTape subject, targetTape(changed, inputsFor(*changed.graph()), m_target,
                                                 execute::Precision::Double, m_stop, first));
        const Tensor start = seedLike(subject.start, m_seed);
        auto slots =
            tape::denseLoop<Bundle>(subject.made.tape, tape::oneSeed(subject.made.tape, subject.target, Bundle(start)));
        RETRO_CHECK(base::checkStop(m_stop));
        if (!slots.ok()) {
            return slots.error().asError();
        }
        subject.start = start;
        return Seeded{std::move(subject), std::move(*slots)};
    }

    Result<PropertyResult> checkNext(const RewriteName& name)
    {
        if (!m_before) {
            RETRO_TRY(m_before, seeded(m_options));
        }
        m_options.*name.option = true;
        RETRO_CHECK(base::checkStop(m_stop));
        RETRO_TRY(Seeded after, seeded(m_options));
        RETRO_TRY(Counterexample wrong, wrongOfItself(after.subject));
        double most = 0;
        if (wrong.text.empty()) {
            wrong = differing(after, most);
        }
        m_before = std::move(after);
        return judged(std::string(name.name), kRewriteStatement, wrong,
                      fmt::format("target and gradients differ by at most {:.2g} of the largest", most));
    }

    /// A rewrite before which no gradient reaches the input: what is behind the first floats is compared.
    Result<PropertyResult> checkFirstFloats(const RewriteName& name) const
    {
        RewriteOptions closed = m_options;
        closed.*name.option = false;
        RETRO_TRY(const Seeded before, seeded(closed, FirstTracked::FirstFloats));
        RETRO_TRY(const Seeded after, seeded(m_options));
        RETRO_TRY(Counterexample wrong, wrongOfItself(after.subject));
        double most = 0;
        std::size_t compared = 0;
        const tape::ModelTape& made = after.subject.made;
        for (Id id = made.tape.size(); wrong.text.empty() && id-- > 0;) {
            const auto same = made.valueOf[id].isValid() ? before.subject.made.model->graph().findValue(made.nameOf(id))
                                                         : std::nullopt;
            const Id other = same ? before.subject.made.idOf[same->index()] : tape::ModelTape::kNowhere;
            const bool isBoth = other != tape::ModelTape::kNowhere && made.tape.cell(id).isTracked &&
                                before.subject.made.tape.cell(other).isTracked;
            if (!isBoth) {
                continue;
            }
            ++compared;
            const double value =
                deviation(made.tape.cell(id).value.only(), before.subject.made.tape.cell(other).value.only());
            const double slope = deviation(gradientOf(after, id), gradientOf(before, other));
            most = std::max({most, value, slope});
            if (most > kMostDeviation) {
                wrong = {fmt::format("{} {} differs by {:.3g} of its largest element",
                                     slope > kMostDeviation ? "the gradient of" : "the value", made.nameOf(id), most),
                         nodeAt(made, id)};
            }
        }
        return judged(std::string(name.name), kRewriteStatement, wrong,
                      fmt::format("{} values behind the first floats and their gradients differ by at most {:.2g} of "
                                  "the largest; before it no gradient reaches whole numbers",
                                  compared, most));
    }

    static Tensor gradientOf(const Seeded& one, Id id)
    {
        return one.slots[id].tensors.empty() ? Tensor() : one.slots[id].only();
    }

    /// P5 to P7 of a tape, and a pass that keeps nothing.
    Result<Counterexample> wrongOfItself(const TargetTape& subject) const
    {
        RETRO_TRY(const PropertyResults tape, checkTape(subject.made, subject.target, subject.start, m_stop));
        RETRO_TRY(const PropertyResult whole, checkWhole(subject.made, subject.target, subject.start, m_seed, m_stop));
        const Counterexample wrong = firstViolated(tape);
        if (!wrong.text.empty() || whole.state == PropertyState::Violated) {
            return wrong.text.empty() ? Counterexample{whole.detail, whole.node} : wrong;
        }
        return differingOutput(subject.made);
    }

    /// A forward pass that keeps nothing, in which nodes may write over what dies there, gives the outputs of the tape.
    Result<Counterexample> differingOutput(const tape::ModelTape& made) const
    {
        std::vector<Tensor> inputs;
        for (std::size_t i = 0; i < made.model->graph().inputs().size(); ++i) {
            inputs.push_back(made.tape.cell(static_cast<Id>(i)).value.only());
        }
        RETRO_TRY(const execute::ForwardResult run,
                  execute::forward(made.model, inputs, execute::SavePolicy::Nothing, m_stop));
        for (std::size_t i = 0; i < run.outputs.size(); ++i) {
            const base::ValueId output = made.model->graph().outputs()[i];
            const Id id = made.idOf[output.index()];
            if (id != tape::ModelTape::kNowhere && !made.tape.cell(id).value.only().bitEqual(run.outputs[i])) {
                return Counterexample{
                    fmt::format("a forward pass that keeps nothing gives another {}", made.nameOf(id)),
                    nodeAt(made, id)};
            }
        }
        return Counterexample();
    }

    static Counterexample firstViolated(const PropertyResults& results)
    {
        const auto at = std::ranges::find(results, PropertyState::Violated, &PropertyResult::state);
        return at == results.end() ? Counterexample()
                                   : Counterexample{fmt::format("{}: {}", at->id, at->detail), at->node};
    }

    /// Inputs are the first leaves on either tape.
    [[nodiscard]] Counterexample differing(const Seeded& after, double& most) const
    {
        const auto valueOf = [](const Seeded& one) {
            return one.subject.made.tape.cell(one.subject.target).value.only();
        };
        most = deviation(valueOf(after), valueOf(*m_before));
        if (most > kMostDeviation) {
            return {fmt::format("the target differs by {:.3g} of its largest element", most)};
        }
        const auto isFloat = [](const Seeded& one, Id id) {
            return tensor::isFloating(one.subject.made.tape.cell(id).value.only().dtype());
        };
        for (Id id = 0; id < m_inputs.size(); ++id) {
            if (!isFloat(after, id) || !isFloat(*m_before, id)) {
                continue; // it opens in one of the two alone
            }
            const double own = deviation(after.slots[id].only(), m_before->slots[id].only());
            if (own > kMostDeviation) {
                const std::string input = after.subject.made.nameOf(id);
                return {fmt::format("the gradient of {} differs by {:.3g} of its largest element", input, own), input};
            }
            most = std::max(most, own);
        }
        return {};
    }

    const LoadedModel& m_model;
    const std::vector<Tensor>& m_inputs;
    const TargetRequest& m_target;
    std::uint64_t m_seed;
    const std::stop_token& m_stop;
    RewriteOptions m_options;
    std::optional<Seeded> m_before;
};

double flopsOf(const execute::BoundModel& model)
{
    double flops = 0;
    for (std::size_t i = 0; i < model.graph().nodeCount(); ++i) {
        flops += model.op(base::NodeId(i)).flops();
    }
    return flops;
}

} // namespace

Result<PropertyResults> checkRewrites(const LoadedModel& model, const std::vector<Tensor>& inputs,
                                      const TargetRequest& target, std::uint64_t seed, const std::stop_token& stop)
{
    RETRO_TRY(const auto bound,
              bindModel(model, inputs, execute::Precision::Float, nullptr, stop, bindOptionsFor(target)));
    const double flops = flopsOf(*bound);
    if (flops > kMostRewriteFlops || target.namesValue()) {
        return PropertyResults{
            {"rewrites", kRewriteStatement, PropertyState::NotApplicable,
             flops > kMostRewriteFlops
                 ? fmt::format("a pass takes {:.2g} operations, and rewrites are checked up to {:.2g}", flops,
                               kMostRewriteFlops)
                 : "the target is a value that a rewrite may take away"}};
    }
    return Checker(model, inputs, target, seed, stop).run();
}

} // namespace retro::engine
