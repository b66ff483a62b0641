// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explain/runforward.h"

#include "core/base/mappedfile.h"
#include "core/base/memoryaccount.h"
#include "core/engine/explain/stopwatch.h"
#include "core/engine/model/binding.h"
#include "core/engine/model/precision.h"
#include "core/execute/forward.h"

namespace retro::engine
{

base::Result<ForwardOutputs> runForward(const LoadedModel& model, const std::vector<tensor::Tensor>& inputs,
                                        execute::Precision precision, std::stop_token stop,
                                        const StageProgress& progress)
{
    base::MemoryAccount::tensors().resetPeak();
    BindOptions wish;
    wish.isEveryOutput = true;
    ForwardOutputs made;
    RETRO_TRY(const std::shared_ptr<const execute::BoundModel> bound,
              bindModel(model, inputs, precision, nullptr, stop, wish, &made.leftOut));
    for (const base::ValueId output : bound->graph().outputs()) {
        made.names.push_back(bound->graph().value(output).name);
    }
    const Stopwatch watch;
    const auto report = [&progress](std::size_t done, std::size_t total) {
        if (progress) {
            progress("forward", done, total);
        }
    };
    RETRO_TRY(execute::ForwardResult result, execute::forward(bound, inPrecision(bound->graph(), inputs, precision),
                                                              execute::SavePolicy::Nothing, std::move(stop), report));
    RETRO_CHECK(base::checkMappedFiles());
    made.seconds = watch.seconds();
    made.peakBytes = base::MemoryAccount::tensors().peak();
    for (std::size_t i = 0; i < result.outputs.size(); ++i) {
        made.outputs.push_back(bound->inModelType(bound->graph().outputs()[i], result.outputs[i]));
    }
    if (std::string warning = overflowWarning(bound->graph(), result.overflow); !warning.empty()) {
        made.warnings.push_back(std::move(warning));
    }
    return made;
}

} // namespace retro::engine
