// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/explain.h"

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace retro::engine
{

/// Called with (done, total) passes of the present part.
using EvaluationProgress = std::function<void(std::size_t, std::size_t)>;

/// Tells of passes, where somebody listens.
inline void report(const EvaluationProgress& progress, std::integral auto done, std::integral auto total)
{
    if (progress) {
        progress(static_cast<std::size_t>(done), static_cast<std::size_t>(total));
    }
}

/// What the methods of an evaluation need of a model.
enum class Passes : std::uint8_t {
    Forward,  ///< the forward pass alone, which trees have as well
    Relevance ///< a relevance pass, too
};

class ScoreBatch;

/// What is evaluated: a model at one input, with the target held fixed. Passes reuse the bound model and, for
/// relevance, the compiled program of the first one. Used by one thread.
class Subject
{
public:
    /// Chooses input and target: the input named, else the first one of the model that carries relevance and holds
    /// numbers, else the first one of tokens that does; the target that the question resolves to at its inputs. Of
    /// Passes::Forward, where no input carries relevance, the first of numbers that the target depends on. Errors:
    /// those of explain() (of a forward pass for Passes::Forward); Usage (no such input, one that carries no
    /// relevance); Input (more than one sample, in the input or in the target).
    [[nodiscard]] static base::Result<Subject> make(const LoadedModelPointer& model, const ExplainRequest& question,
                                                    std::stop_token stop = {}, const std::string& input = {},
                                                    Passes passes = Passes::Relevance);

    /// The evaluated input, in the question's precision.
    [[nodiscard]] const tensor::Tensor& input() const { return m_input; }
    [[nodiscard]] const std::string& inputName() const { return m_inputName; }
    /// The other inputs that carry relevance: they stay as they are.
    [[nodiscard]] const std::vector<std::string>& heldInputs() const { return m_held; }
    /// True when an embedding looks the elements up; other integers are numbers.
    [[nodiscard]] bool isOfTokens() const { return m_isOfTokens; }
    /// The model as it runs.
    [[nodiscard]] const execute::BoundModel& model() const { return *m_model; }
    /// The value whose relevance starts.
    [[nodiscard]] base::ValueId value() const { return m_value; }
    /// Row-major position of the target in its value; nothing where it is the whole value.
    [[nodiscard]] std::optional<std::int64_t> element() const;
    /// Stops the methods.
    [[nodiscard]] const std::stop_token& stop() const { return m_stop; }
    /// The composite that the question asks for.
    [[nodiscard]] const std::string& composite() const { return m_question.composite; }
    [[nodiscard]] execute::Precision precision() const { return m_question.precision; }
    /// Where relevance starts, and the target as messages have it: "logits 3".
    [[nodiscard]] StartKind start() const { return m_question.start.kind; }
    [[nodiscard]] std::string targetText() const;
    /// The element of the target in words: "3", "row 4, column 5, class 3"; empty when it is a value by name.
    [[nodiscard]] const std::string& place() const { return m_place; }
    /// The target's value at the input as it is.
    [[nodiscard]] double scoreAtInput() const { return m_score; }
    /// For people: why this target, where nobody chose it, and what is odd about it (explain's warnings).
    [[nodiscard]] const std::vector<std::string>& warnings() const { return m_warnings; }
    /// The class; nothing when the target is no class.
    [[nodiscard]] std::optional<std::int64_t> classIndex() const;
    /// How many elements the output has that classes are numbered by.
    [[nodiscard]] std::int64_t classCount() const { return m_classCount; }
    /// Element of the target's value that is class 0: of a text that is the first word at the target's position.
    [[nodiscard]] std::int64_t firstClass() const { return m_firstClass; }
    /// The best class but the target's; nothing when the target is no class, or the only one.
    [[nodiscard]] std::optional<std::int64_t> runnerUp() const { return m_runnerUp; }

    /// The target's value when `input` stands in place of the evaluated input: a forward pass.
    [[nodiscard]] base::Result<double> score(const tensor::Tensor& input) const;
    /// score() of input(0) … input(count − 1). Several go through one pass where the first axis of the model's inputs
    /// is free and samples do not change each other; the last digits may then differ from those of score().
    [[nodiscard]] base::Result<std::vector<double>> scores(std::size_t count,
                                                           const std::function<tensor::Tensor(std::size_t)>& input,
                                                           const EvaluationProgress& progress = {}) const;
    /// The values, by name, when `input` stands in place of the evaluated input. Errors (Usage): there is no such
    /// value.
    [[nodiscard]] base::Result<std::vector<tensor::Tensor>> values(const std::vector<std::string>& names,
                                                                   const tensor::Tensor& input) const;
    /// The gradient of the target at the input as it is, with respect to a value, by name; in the value's shape. Errors
    /// (Usage): there is no such value, or no gradient reaches it.
    [[nodiscard]] base::Result<tensor::Tensor> gradientAt(const std::string& value) const;
    /// Relevance of the input there, by a composite, in the shape of the input.
    [[nodiscard]] base::Result<tensor::Tensor> relevance(const tensor::Tensor& input, const std::string& composite,
                                                         StartKind start) const;

    /// Of tokens: Σ over the embedding of each of embedding · gradient there, in the shape of the input. Errors
    /// (Usage): the input is not looked up in one table.
    [[nodiscard]] base::Result<tensor::Tensor> embeddingTimesGradient() const;

    /// The same model, input and target in float64, with nothing rounded. Errors: those of a bound model.
    [[nodiscard]] base::Result<Subject> inDouble() const;
    /// The same model and input with another class as target.
    [[nodiscard]] Subject withClass(std::int64_t index) const;
    /// The same input and target in another model with the same inputs and outputs (other weights).
    [[nodiscard]] base::Result<Subject> withModel(const LoadedModelPointer& model) const;

private:
    Subject() = default;
    struct Answer;
    [[nodiscard]] base::Result<Answer> explained();
    [[nodiscard]] base::Result<Answer> run();
    [[nodiscard]] base::Result<double> scoreOf(const tensor::Tensor& value,
                                               std::span<const tensor::Tensor> inputs) const;
    [[nodiscard]] base::Result<void> chooseInput(const LoadedModel& model, const std::string& wanted, Passes passes);
    [[nodiscard]] base::Result<void> checkSamples(const LoadedModel& model) const;
    [[nodiscard]] base::Result<std::size_t> positionOf(const std::string& wanted, Passes passes) const;
    [[nodiscard]] ExplainRequest requestFor(const tensor::Tensor& input, const std::string& composite,
                                            StartKind start) const;
    [[nodiscard]] std::vector<tensor::Tensor> inputsWith(const tensor::Tensor& input) const;
    void holdTarget(const ResolvedTarget& target);
    void findRunnerUp(const std::vector<tensor::Tensor>& outputs);
    void startBatch();

    LoadedModelPointer m_loaded;
    std::shared_ptr<Explainer> m_explainer;
    std::shared_ptr<ScoreBatch> m_batch; // copies with another class share it
    std::shared_ptr<const execute::BoundModel> m_model;
    ExplainRequest m_question; // its target is fixed
    base::ValueId m_value;     // of the target
    std::string m_place;       // of the target, in words; empty = its number
    double m_score = 0;        // of the target at the input
    std::vector<std::string> m_warnings;
    std::size_t m_at = 0; // of the evaluated input
    std::string m_inputName;
    bool m_isOfTokens = false;
    tensor::Tensor m_input;
    std::vector<std::string> m_held;
    std::int64_t m_classCount = 0;
    std::int64_t m_firstClass = 0;
    std::optional<std::int64_t> m_runnerUp;
    std::stop_token m_stop;
};

} // namespace retro::engine
