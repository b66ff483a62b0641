// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/explain.h"
#include "core/trace/run.h"

#include <string>

namespace retro::engine
{

/// What the facts of a recorded run are taken from.
struct FactSources
{
    const LoadedModel& model;
    const ExplainRequest& request;
    const ExplainResult& result;
    std::string save; ///< the saving policy of the forward pass, in words
};

/// Fills in what was explained, how, and what the model's card says of it.
void fillFacts(trace::RunFacts& facts, const FactSources& from);

} // namespace retro::engine
