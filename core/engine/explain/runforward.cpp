// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explain/runforward.h"

#include "core/base/failure.h"
#include "core/base/mappedfile.h"
#include "core/base/memoryaccount.h"
#include "core/engine/explain/stopwatch.h"
#include "core/engine/explain/valuepatterns.h"
#include "core/engine/model/binding.h"
#include "core/engine/model/precision.h"
#include "core/execute/forward.h"

#include <memory>
#include <utility>

namespace retro::engine
{

namespace
{

/// Hands values on and holds none.
class HandingStore final : public execute::ValueStore
{
public:
    HandingStore(const execute::BoundModel& model, const HiddenValues& hidden)
        : m_model(model), m_hidden(hidden), m_isTaken(model.graph().valueCount(), false)
    {}

    void put(base::ValueId value, tensor::Tensor tensor) override
    {
        m_isTaken[value.index()] = true;
        if (auto taken = m_hidden.take(value, m_model.inModelType(value, tensor)); !taken) {
            throw base::Failure(std::move(taken).error()); // nothing is computed for a disk that is full
        }
    }
    [[nodiscard]] tensor::Tensor get(base::ValueId /*value*/) const override { return {}; }

    /// What no node computes: it follows from shapes, and is known before the pass.
    void putConstants(std::span<const base::ValueId> values)
    {
        for (const base::ValueId value : values) {
            if (!m_isTaken[value.index()] && m_model.isConstant(value)) {
                put(value, m_model.constant(value));
            }
        }
    }

private:
    const execute::BoundModel& m_model;
    const HiddenValues& m_hidden;
    std::vector<bool> m_isTaken;
};

std::uint64_t bytesOf(const execute::BoundModel& model, std::span<const base::ValueId> values)
{
    std::uint64_t bytes = 0;
    for (const base::ValueId value : values) {
        const tensor::DType type = model.graph().value(value).dtype;
        bytes += static_cast<std::uint64_t>(tensor::elementCount(model.typeOf(value).shape)) *
                 static_cast<std::uint64_t>(tensor::sizeOf(type));
    }
    return bytes;
}

/// The pass, and what is wanted of its values.
base::Result<execute::ForwardResult> pass(const std::shared_ptr<const execute::BoundModel>& bound,
                                          const std::vector<tensor::Tensor>& inputs, const HiddenValues& hidden,
                                          std::stop_token stop, const execute::Progress& report)
{
    if (hidden.patterns.empty()) {
        return execute::forward(bound, inputs, execute::SavePolicy::Nothing, std::move(stop), report);
    }
    RETRO_TRY(const std::vector<base::ValueId> found, valuesMatching(bound->graph(), hidden.patterns));
    RETRO_CHECK(hidden.begin(bound->graph(), found, bytesOf(*bound, found)));
    auto store = std::make_shared<HandingStore>(*bound, hidden);
    RETRO_TRY(execute::ForwardResult result,
              execute::forwardInto(store, bound, inputs, found, std::move(stop), report));
    store->putConstants(found);
    return result;
}

} // namespace

base::Result<LoadedModelPointer> asInFile(const LoadedModelPointer& model, const std::stop_token& stop)
{
    rewrite::RewriteOptions none = rewrite::noRewrites();
    none.passThrough = model->rewritten.options.passThrough;
    return withRewrites(model, none, stop);
}

base::Result<ForwardOutputs> runForward(const LoadedModel& model, const std::vector<tensor::Tensor>& inputs,
                                        execute::Precision precision, std::stop_token stop,
                                        const StageProgress& progress, const HiddenValues& hidden)
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
    RETRO_TRY(const execute::ForwardResult result,
              pass(bound, inPrecision(bound->graph(), inputs, precision), hidden, std::move(stop), report));
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
