// SPDX-License-Identifier: Apache-2.0
#include "core/engine/evaluate/evaluation.h"

#include "core/base/csvfield.h"
#include "core/base/hash128.h"
#include "core/base/record.h"
#include "core/engine/explain/stopwatch.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>

namespace retro::engine
{

using base::Result;
using nlohmann::ordered_json;
using tensor::Tensor;

namespace
{

/// One method after the other on one subject.
class Evaluator
{
public:
    Evaluator(const LoadedModelPointer& model, const Subject& subject, const EvaluationOptions& options,
              const UnitOptions& units, std::optional<std::int64_t> other, const NamedProgress& progress)
        : m_model(model), m_subject(subject), m_options(options), m_progress(progress), m_units(subject.input(), units),
          m_other(other)
    {}

    [[nodiscard]] const Units& units() const { return m_units; }

    Result<Curve> random() const
    {
        return flipAtRandom(m_subject, m_units, m_options.flipping, as("random: flipping"));
    }

    Result<MethodMeasures> measure(const std::string& name) const
    {
        RETRO_TRY(const AttributionPointer method, makeAttribution(name, m_options.attribution));
        MethodMeasures measures;
        measures.method = name;
        const Stopwatch watch;
        report(name + ": attribution", 0, 1);
        RETRO_TRY(measures.attributed, method->attribute(m_subject, m_units, as(name + ": attribution")));
        const Tensor& original = measures.attributed.values;
        measures.seconds = watch.seconds();
        RETRO_TRY(measures.curves, flip(m_subject, m_units, original, m_options.flipping, as(name + ": flipping")));
        if (m_other && !(name == "lrp" && startsAtNoClass())) {
            RETRO_TRY(const Attributed other, method->attribute(m_subject.withClass(*m_other), m_units));
            measures.cosineToOther = similarity(original, other.values).cosine;
        }
        RETRO_TRY(measures.stages, randomiseTopDown(*m_model, m_subject, m_units, *method, original, m_options.stages,
                                                    m_options.attribution.seed, as(name + ": randomisation")));
        return measures;
    }

private:
    [[nodiscard]] bool startsAtNoClass() const
    {
        return m_subject.start() == StartKind::All || m_subject.start() == StartKind::Given;
    }

    void report(const std::string& what, std::size_t done, std::size_t total) const
    {
        if (m_progress) {
            m_progress(what, done, total);
        }
    }

    [[nodiscard]] EvaluationProgress as(const std::string& what) const
    {
        return [this, what](std::size_t done, std::size_t total) { report(what, done, total); };
    }

    const LoadedModelPointer& m_model;
    const Subject& m_subject;
    const EvaluationOptions& m_options;
    const NamedProgress& m_progress;
    Units m_units;
    std::optional<std::int64_t> m_other; // class
};

/// The class that the target is compared with; nothing when there is none, or it is the target itself.
Result<std::optional<std::int64_t>> otherOf(const Subject& subject, const EvaluationOptions& options)
{
    if (!options.other) {
        return subject.runnerUp();
    }
    const std::string where = fmt::format("--other {}", *options.other);
    const std::optional<std::int64_t> target = subject.classIndex();
    if (!target) {
        return base::usageError("it is a class to compare with, and the target is none; name a class as --target",
                                where);
    }
    if (*options.other < 0 || *options.other >= subject.classCount()) {
        return base::usageError(fmt::format("the classes are 0 to {}", subject.classCount() - 1), where);
    }
    const std::int64_t other = subject.firstClass() + *options.other;
    return other == *target ? std::optional<std::int64_t>() : other;
}

/// What the methods need together.
Result<Passes> passesOf(const EvaluationOptions& options)
{
    Passes passes = Passes::Forward;
    for (const std::string& name : options.methods) {
        RETRO_TRY(const AttributionPointer method, makeAttribution(name, options.attribution));
        passes = std::max(passes, method->passes());
    }
    return passes;
}

Result<void> checkMethods(const Subject& subject, const EvaluationOptions& options)
{
    for (const std::string& name : options.methods) {
        RETRO_TRY(const AttributionPointer method, makeAttribution(name, options.attribution));
        if (subject.isOfTokens() && !method->takesTokens()) {
            return base::usageError(fmt::format("{} looks at inputs between or near this one, and there is nothing "
                                                "between tokens; take lrp, input_x_gradient, occlusion or shapley",
                                                name),
                                    fmt::format("input \"{}\"", subject.inputName()));
        }
    }
    return {};
}

ordered_json curveJson(const Curve& curve) { return {{"scores", curve.scores}, {"area", curve.area}}; }

ordered_json stagesJson(const std::vector<RandomisationStage>& stages)
{
    return base::listOf(stages, [&](const RandomisationStage& stage) -> ordered_json {
        return {{"layer", stage.layer},
                {"layers", stage.layers},
                {"cosine", stage.similarity.cosine},
                {"spearman", stage.similarity.spearman}};
    });
}

ordered_json methodJson(const MethodMeasures& measures)
{
    ordered_json json = base::objectOf({{"method", measures.method},
                                        {"area_between", measures.curves.between()},
                                        {"most_first", curveJson(measures.curves.mostFirst)},
                                        {"least_first", curveJson(measures.curves.leastFirst)},
                                        {"cosine_to_other", base::ifAny(measures.cosineToOther)},
                                        {"randomisation", base::ifAny(stagesJson(measures.stages))},
                                        {"how", base::ifAny(measures.attributed.how)}});
    for (const auto& [name, number] : measures.attributed.numbers) {
        json[name] = number;
    }
    json["seconds"] = measures.seconds;
    return json;
}

std::string rowsOf(const std::string& method, const char* curve, const std::vector<double>& removed,
                   const std::vector<double>& scores)
{
    std::string rows;
    for (std::size_t i = 0; i < scores.size(); ++i) {
        rows += fmt::format("{},{},{},{}\n", method, curve, removed[i], scores[i]);
    }
    return rows;
}

} // namespace

Result<Evaluation> evaluate(const LoadedModelPointer& model, const ExplainRequest& question,
                            const EvaluationOptions& options, std::stop_token stop, const NamedProgress& progress)
{
    RETRO_TRY(const Passes passes, passesOf(options)); // before anything takes long
    RETRO_TRY(const Subject subject, Subject::make(model, question, std::move(stop), options.input, passes));
    RETRO_CHECK(checkMethods(subject, options));
    UnitOptions asked = options.units;
    asked.countsIntegers = !subject.isOfTokens();
    RETRO_TRY(const UnitOptions units,
              decideUnits(asked, *model->rewritten.before, subject.inputName(), subject.input()));
    RETRO_TRY(const std::optional<std::int64_t> other, otherOf(subject, options));
    const Evaluator evaluator(model, subject, options, units, other, progress);
    Evaluation evaluation{model->name,
                          subject.inputName(),
                          subject.heldInputs(),
                          subject.targetText(),
                          subject.composite(),
                          evaluator.units().text(),
                          other,
                          {},
                          {},
                          subject.scoreAtInput(),
                          subject.warnings()};
    evaluation.otherPlace = other ? subject.withClass(*other).place() : std::string();
    RETRO_TRY(evaluation.random, evaluator.random());
    for (const std::string& name : options.methods) {
        RETRO_TRY(MethodMeasures measures, evaluator.measure(name));
        evaluation.methods.push_back(std::move(measures));
    }
    return evaluation;
}

std::string hashWith(const std::string& result, const EvaluationOptions& options)
{
    base::Hasher128 hash;
    hash.text(result);
    hash.number(options.methods.size());
    for (const std::string& method : options.methods) {
        hash.text(method);
    }
    const AttributionOptions& a = options.attribution;
    const UnitOptions& u = options.units;
    const FlippingOptions& f = options.flipping;
    hash.text(fmt::format("{} {} {} {} {} {} {} {} {} {} {}", a.integrationSteps, a.noiseSamples, a.noise, a.seed,
                          u.patch, static_cast<int>(u.channels), static_cast<int>(u.replacement), f.steps,
                          f.randomOrders, f.seed, options.stages));
    hash.text(options.input);
    hash.text(u.mask ? std::to_string(*u.mask) : std::string());
    hash.text(options.other ? std::to_string(*options.other) : std::string());
    hash.number(static_cast<std::uint64_t>(a.permutations));
    for (std::int64_t i = 0; i < (a.background.isValid() ? a.background.size() : 0); ++i) {
        hash.number(std::bit_cast<std::uint64_t>(a.background.at(i)));
    }
    return hash.digest();
}

ordered_json toJson(const Evaluation& evaluation)
{
    const ordered_json methods =
        base::listOf(evaluation.methods, [&](const MethodMeasures& measures) { return methodJson(measures); });
    const ordered_json removed =
        evaluation.methods.empty() ? std::vector<double>() : evaluation.methods.front().curves.removed;
    return base::objectOf(
        {{"model", evaluation.model},
         {"input", evaluation.input},
         {"held_inputs", evaluation.held},
         {"target", evaluation.target},
         {"score", evaluation.score},
         {"composite", evaluation.composite},
         {"units", evaluation.units},
         {"other_class", base::ifAny(evaluation.otherClass)},
         {"other_place", evaluation.otherClass ? ordered_json(evaluation.otherPlace) : base::kLeftOut},
         {"removed", removed},
         {"random", curveJson(evaluation.random)},
         {"methods", methods}});
}

std::string curvesCsv(const Evaluation& evaluation)
{
    std::string table = "method,curve,removed,score\n";
    if (evaluation.methods.empty()) {
        return table;
    }
    table += rowsOf("random", "random", evaluation.methods.front().curves.removed, evaluation.random.scores);
    for (const MethodMeasures& measures : evaluation.methods) {
        const std::string method = base::csvField(measures.method);
        table += rowsOf(method, "most_first", measures.curves.removed, measures.curves.mostFirst.scores);
        table += rowsOf(method, "least_first", measures.curves.removed, measures.curves.leastFirst.scores);
    }
    return table;
}

std::string measuresCsv(const Evaluation& evaluation)
{
    std::string table = "method,measure,layer,layers,value\n";
    const auto add = [&table](const std::string& method, const std::string& measure, double value) {
        table += fmt::format("{},{},,,{}\n", method, measure, value);
    };
    add("random", "area", evaluation.random.area);
    for (const MethodMeasures& measures : evaluation.methods) {
        const std::string method = base::csvField(measures.method);
        add(method, "area_between", measures.curves.between());
        add(method, "area_most_first", measures.curves.mostFirst.area);
        add(method, "area_least_first", measures.curves.leastFirst.area);
        if (measures.cosineToOther) {
            add(method, "cosine_to_other", *measures.cosineToOther);
        }
        for (const auto& [name, number] : measures.attributed.numbers) {
            add(method, name, number);
        }
        for (const RandomisationStage& stage : measures.stages) {
            const std::string layer = base::csvField(stage.layer);
            table +=
                fmt::format("{},randomisation_cosine,{},{},{}\n", method, layer, stage.layers, stage.similarity.cosine);
            table += fmt::format("{},randomisation_spearman,{},{},{}\n", method, layer, stage.layers,
                                 stage.similarity.spearman);
        }
    }
    return table;
}

} // namespace retro::engine
