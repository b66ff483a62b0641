// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/engine/explainer/relevancegraph.h"
#include "core/engine/question/question.h"

namespace retro::engine
{

/// Where relevance starts in the relevance graph of a model that predicts words: at one position of each text
/// (--position, else the last), as in a question about a text (languageQuestion()). The target is then a word or the
/// number of a token. Puts both into the request that resolve() made and into the form; leaves them as they are for
/// other models, and for a start or a target that names elements itself. The question names the file of the graph, so
/// what a graph cannot have was refused with it (combinations.h). Errors (Usage): a position in another model, or of
/// what names its elements itself; several words.
[[nodiscard]] base::Result<void> startAtWord(const LoadedModel& model, const Question& question,
                                             ExplainRequest& request, RelevanceGraphForm& form);

} // namespace retro::engine
