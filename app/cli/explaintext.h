// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/cli/context.h"
#include "core/engine/explain/explain.h"
#include "core/engine/model/openfused.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace retro::app
{

/// "243 (bull mastiff)" by the labels of the model's card, "243" without; "the whole value" below 0.
[[nodiscard]] std::string labelOf(const engine::LoadedModel& model, std::int64_t index);

/// "token 11, class 504 (label)" of a target in one sample; as labelOf() where there is one row of classes per sample.
[[nodiscard]] std::string placeOf(const engine::LoadedModel& model, const graph::Graph& graph,
                                  const engine::ResolvedTarget& target, std::size_t sample);

/// Says what was explained or checked, a line per sample: place, value and score.
void sayTarget(const Context& context, const engine::LoadedModel& model, const graph::Graph& graph,
               const engine::ResolvedTarget& target);

/// Says how many parameters have relevance, where that was asked for.
void sayParameters(const Context& context, const engine::ExplainResult& result);

/// Says what arrived at the checkpoints, and whether the pass ended there.
void sayCheckpoints(const Context& context, const engine::ExplainResult& result);

/// Says what of the relevance passed its conditions, where there were any.
void sayConditions(const Context& context, const engine::ExplainResult& result);

/// Says how much relevance ends in the region, and which channels put most of it there, where that was asked for.
void sayRegion(const Context& context, const engine::ExplainResult& result);

/// Says what an explanation came to: targets, decisions, composite, visits, savings, sums and seconds. `rows` of what
/// was forwarded.
void sayResult(const Context& context, const engine::LoadedModel& model, const engine::ExplainResult& result,
               std::size_t rows);

/// Says where relevance went inside the fused nodes that were opened.
void sayOpened(const Context& context, const std::vector<engine::OpenedFused>& opened);

} // namespace retro::app
