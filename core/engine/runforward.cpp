// SPDX-License-Identifier: Apache-2.0
#include "core/engine/runforward.h"

#include "core/base/mappedfile.h"
#include "core/base/memoryaccount.h"
#include "core/engine/binding.h"
#include "core/engine/stopwatch.h"
#include "core/execute/forward.h"

namespace retro::engine
{

base::Result<ForwardOutputs> runForward(const LoadedModel& model, const std::vector<tensor::Tensor>& inputs,
                                        execute::Precision precision, std::stop_token stop,
                                        const StageProgress& progress)
{
    base::MemoryAccount::tensors().resetPeak();
    BindWish wish;
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
    RETRO_TRY(execute::ForwardResult result, execute::forward(bound, inPrecision(inputs, precision),
                                                              execute::SavePolicy::Nothing, std::move(stop), report));
    RETRO_CHECK(base::checkMappedFiles());
    made.outputs = std::move(result.outputs);
    made.seconds = watch.seconds();
    made.peakBytes = base::MemoryAccount::tensors().peak();
    return made;
}

} // namespace retro::engine
