// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/python/arrays.h"
#include "app/python/run.h"
#include "core/engine/explain/explain.h"
#include "core/engine/question/question.h"

#include <nanobind/nanobind.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace retro::python
{

/// Options as the command line has them: name without dashes in front, and texts ("on" for a switch).
using Options = std::map<std::string, std::vector<std::string>>;

/// A loaded model. Explains for one thread at a time; others wait.
class Model
{
public:
    /// Throws Refused, as engine::loadModel().
    [[nodiscard]] static std::shared_ptr<Model> load(const std::string& path, const Options& options);
    /// The same of the bytes of an ONNX file, and the text of its card (empty = none).
    [[nodiscard]] static std::shared_ptr<Model> parse(const nanobind::bytes& data, const std::string& name,
                                                      const std::string& card, const Options& options);

    explicit Model(engine::LoadedModelPointer loaded) : m_loaded(std::move(loaded)) {}

    [[nodiscard]] const std::string& name() const { return m_loaded->name; }
    [[nodiscard]] std::vector<std::string> labels() const;
    /// Per input: name, declared extents (a number, a symbol, or None), element type.
    [[nodiscard]] nanobind::list inputs() const;
    [[nodiscard]] std::vector<std::string> outputs() const;
    [[nodiscard]] const engine::LoadedModelPointer& loaded() const { return m_loaded; }

    /// The operators of the file, each once.
    [[nodiscard]] std::vector<std::string> operators() const;
    /// The values that a pattern names (engine::valuesMatching). Throws Refused (Usage).
    [[nodiscard]] std::vector<std::string> named(const std::string& pattern) const;
    /// Writes the graph as it was read, in the format of the ending. Throws Refused (Input, Output).
    void write(const std::string& path) const;
    /// The same model without these rewrites; itself where it has none of them. Throws Refused (Usage).
    [[nodiscard]] std::shared_ptr<Model> without(const std::vector<std::string>& rewrites) const;
    /// The first input that takes a picture, from pixels (height × width × 3).
    [[nodiscard]] nanobind::object picture(const AnyArray& pixels) const;
    /// Explains. `given`: per input an array, or a text as --input has it. `records`: yes, no, or (nothing) where
    /// nothing else that is asked excludes it.
    [[nodiscard]] std::shared_ptr<Run> explain(const nanobind::list& given, const Options& options,
                                               std::optional<bool> records, bool copies, const nanobind::object& told);

    /// The forward pass alone: outputs by name, and the hidden values that `patterns` name (valuepatterns.h).
    [[nodiscard]] nanobind::dict run(const nanobind::list& given, const std::vector<std::string>& patterns,
                                     const Options& options, bool copies, const nanobind::object& told);

    /// Explains a text (docs/language.md): a Run, what is said of the text as JSON (tokens.json), layers and heads
    /// (arrays, or None), maps of attentions (arrays by layer, where they were asked for), and the page as HTML.
    /// `options` as for explain(), with those of texts.
    [[nodiscard]] nanobind::tuple explainText(const Options& options, std::optional<bool> records,
                                              const nanobind::object& told);

private:
    [[nodiscard]] engine::LoadedModelPointer runnable(const engine::Question& question);
    [[nodiscard]] std::vector<tensor::Tensor> inputsOf(const nanobind::list& given, bool copies,
                                                       const engine::Question& question,
                                                       const engine::LoadedModel& model) const;

    engine::LoadedModelPointer m_loaded;
    std::mutex m_one; ///< who explains
    std::optional<engine::Explainer> m_explainer;
};

/// (name, help, choices, whether it is of the model, whether it is a switch) of every option, for lists and signatures.
[[nodiscard]] nanobind::list describeOptions();

} // namespace retro::python
