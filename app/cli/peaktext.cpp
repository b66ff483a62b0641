// SPDX-License-Identifier: Apache-2.0
#include "app/cli/peaktext.h"

namespace retro::app
{

nlohmann::ordered_json peakTensorsJson(const std::vector<schedule::PeakTensor>& tensors)
{
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (const schedule::PeakTensor& one : tensors) {
        json.push_back(
            {{"name", one.name}, {"bytes", one.bytes}, {"born", one.born}, {"dies", one.dies}, {"why", one.why}});
    }
    return json;
}

} // namespace retro::app
