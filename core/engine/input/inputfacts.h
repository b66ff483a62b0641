// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain/explain.h"
#include "core/formats/modelcard.h"
#include "core/trace/run.h"

namespace retro::engine
{

/// How people read the input of a request: what the model's card says of it (null = there is none), how its pixels
/// became numbers, and which file it came from. A text or a list that is longer than a run file takes is left out.
[[nodiscard]] trace::InputFacts inputFacts(const formats::ModelCard* card, const ExplainRequest& request);

} // namespace retro::engine
