// SPDX-License-Identifier: Apache-2.0
#include "core/engine/forwarding/forwardingjson.h"

namespace retro::engine
{

using nlohmann::ordered_json;

ordered_json forwardingJson(const ForwardingDone& done, const graph::Graph& graph)
{
    ordered_json values = ordered_json::array();
    for (const ForwardDecision& one : done.plan.decisions) {
        values.push_back({{"value", graph.value(one.value).name},
                          {"form", nameOf(one.form)},
                          {"bytes", one.bytes},
                          {"kept", one.kept},
                          {"reason", one.reason},
                          {"fallback", one.isFallback}});
    }
    ordered_json loops = ordered_json::array();
    for (const LoopCheckpoints& loop : done.plan.segments.loops()) {
        loops.push_back({{"loop", loop.loop}, {"iterations", loop.iterations}, {"checkpoint_every", loop.every}});
    }
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
