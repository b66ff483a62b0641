// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/engine/explain/explain.h"
#include "core/engine/language/languagemodel.h"
#include "core/engine/language/languagereport.h"
#include "core/engine/language/languagewords.h"
#include "core/engine/question/question.h"

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace retro::engine
{

/// A question about a text, with words and places made numbers.
struct LanguageQuestion
{
    LanguageModel language;
    std::string scores; ///< name of the value of the scores; empty where it is the first output, which is asked usually
    LanguageWords words;
    std::string text;                  ///< as given; empty for numbers
    std::vector<LanguageToken> tokens; ///< of the text; of an encoder and a decoder, of that of the decoder
    std::int64_t padding = 0;          ///< how many of them at the end fill an input of fixed length up
    std::vector<LanguageToken> source; ///< of the text that the encoder reads
    std::string decoder;               ///< then: name of the input of `tokens`
    std::vector<std::string> labels;   ///< of the classes, where the scores are of no words
    std::vector<tensor::Tensor> inputs;
    std::int64_t position = 0;
    std::vector<std::int64_t> positions; ///< of --positions, from 0; the first of them is `position`
    std::optional<std::int64_t> target;  ///< a token or class; none = the best at the position
    bool asksForWord = true;             ///< false: the target is what it is of any model
    std::vector<std::int64_t> contrast;
    std::int64_t generates = 0;
    std::vector<LanguageToken> continued; ///< tokens that the text goes on with
    bool asksAttention = false;
    std::vector<std::size_t> attention; ///< layers whose maps are wanted; empty and asked for = all
    std::vector<std::string> warnings;
};

/// What is made of an explained position beside the relevance of its tokens.
struct LayerWish
{
    bool layers = true;
    bool links = false; ///< of the attentions, at most `mostLinks` of each
    bool maps = false;  ///< of the layers that the question names
    std::size_t mostLinks = 4096;
    /// Links are left out, and the report says so, where their maps would have more numbers (attentionNumbers()).
    double mostNumbers = std::numeric_limits<double>::infinity();

    /// What the command line makes: what the question asks for.
    [[nodiscard]] static LayerWish of(const LanguageQuestion& asked, const Question& question);
};

/// The question about a text that `question` asks of `model`; none where it asks for none: the model reads no tokens,
/// or it says nothing of words and the model does not predict words. Of a model that gives no scores of words the
/// target is that of any model, or at --position a class. Errors: Usage (a word, a position, what belongs to models of
/// texts alone), Input (tokenizer, inputs).
[[nodiscard]] base::Result<std::optional<LanguageQuestion>> languageQuestion(const LoadedModel& model,
                                                                             const Question& question);

/// Whether a text of --target is one of the forms that name a value or an axis, and so is no word.
[[nodiscard]] bool namesElement(const std::string& target, const LoadedModel& model);

/// The question without what takeLanguage() brings: for resolve().
[[nodiscard]] Question withoutLanguage(Question question, const LanguageQuestion& asked);

/// Puts inputs, target and contrast into a request that resolve() made. Errors (Usage): more than one target.
[[nodiscard]] base::Result<void> takeLanguage(const LanguageQuestion& asked, ExplainRequest& request);

/// The request that a question makes of a model, with the data of its inputs: of a text, those and the target that its
/// words make. Errors: as languageQuestion(), resolve(), readInputs().
[[nodiscard]] base::Result<ExplainRequest> resolveWithInputs(const Question& question, const LoadedModel& model);

/// The data of its inputs alone. What is no question about a text is read as that of any model. Errors: readInputs().
[[nodiscard]] base::Result<std::vector<tensor::Tensor>> readInputsOrText(const Question& question,
                                                                         const LoadedModel& model);

/// What came of it: tokens, layers and heads. `question` names the file of layers, if any. Errors: Input (that file).
[[nodiscard]] base::Result<LanguageReport> reportOf(const LanguageQuestion& asked, const LoadedModel& model,
                                                    const Question& question, const ExplainResult& result);

/// Adds the links of the attentions to a report of that result, as far as they are wished for. Errors: as
/// attentionMaps().
[[nodiscard]] base::Result<void> addAttention(const LanguageQuestion& asked, const Question& question,
                                              const ExplainRequest& request, const ExplainResult& result,
                                              const LayerWish& wish, LanguageReport& report, std::stop_token stop = {});

/// Adds the answers at the other positions of --positions. Each is that of --position; they share one forward pass with
/// the question where `explainer` made its result with ExplainRequest::keepsPass. Errors: as explain().
[[nodiscard]] base::Result<void> addPositions(const LanguageQuestion& asked, Explainer& explainer,
                                              const Question& question, const ExplainRequest& request,
                                              LanguageReport& report, std::stop_token stop = {},
                                              const LayerWish& wish = {});

/// Called with the report after each step.
using StepTold = std::function<void(const LanguageReport&)>;

/// Goes on with the text, and explains each of its steps as a question of its own; `result` is that of `request`, the
/// main question, whose answer is the first step where it asks for the same. Steps share the forward pass over the
/// whole text where the model is causal and the words are known before: given, or chosen by its caches (CachedWords).
/// Errors: as explain().
[[nodiscard]] base::Result<void> addGeneration(const LanguageQuestion& asked, const LoadedModel& model,
                                               const Question& question, const ExplainRequest& request,
                                               const ExplainResult& result, LanguageReport& report,
                                               std::stop_token stop = {}, const LayerWish& wish = {},
                                               const StepTold& told = {});

/// Of a contrast, the target and what it is set against by themselves: relevance passes of their own over one forward
/// pass, where `explainer` can keep it. Errors: as explain().
[[nodiscard]] base::Result<void> addSidesOfContrast(const LanguageQuestion& asked, Explainer& explainer,
                                                    const ExplainRequest& request, LanguageReport& report,
                                                    std::stop_token stop = {});

} // namespace retro::engine
