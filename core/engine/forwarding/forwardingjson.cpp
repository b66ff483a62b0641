// SPDX-License-Identifier: Apache-2.0
#include "core/engine/forwarding/forwardingjson.h"

#include "core/base/record.h"

namespace retro::engine
{

using nlohmann::ordered_json;

ordered_json forwardingJson(const ForwardingDone& done, const graph::Graph& graph)
{
    const ordered_json values = base::listOf(done.plan.decisions, [&](const ForwardDecision& one) -> ordered_json {
        return {{"value", graph.value(one.value).name},
                {"form", nameOf(one.form)},
                {"bytes", one.bytes},
                {"kept", one.kept},
                {"reason", one.reason},
                {"fallback", one.isFallback}};
    });
    const ordered_json loops =
        base::listOf(done.plan.segments.loops(), [&](const LoopCheckpoints& loop) -> ordered_json {
            return {{"loop", loop.loop}, {"iterations", loop.iterations}, {"checkpoint_every", loop.every}};
        });
    ordered_json json{{"stored_bytes", done.storedBytes},
                      {"kept_bytes", done.keptBytes},
                      {"rebuilds", done.rebuilds()},
                      {"loops", loops},
                      {"values", values}};
    if (done.plan.modelledPeak) {
        json["modelled_peak"] = *done.plan.modelledPeak;
        json["proven"] = done.plan.isProven;
    }
    return json;
}

} // namespace retro::engine
