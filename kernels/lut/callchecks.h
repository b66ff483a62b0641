// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/lut/run.h"

namespace retro::lut
{

/// BadSize when an array does not have the elements that it needs.
Status checkSize(const char* name, std::size_t has, std::uint64_t needs);

/// The first that is wrong.
Status firstBad(std::initializer_list<Status> all);

/// That the scratch of the documented path stays within a limit, and events can count the batch's samples.
Status checkScratch(const Schedule& schedule, std::uint64_t batch, std::uint64_t limit);

/// Sizes of the arrays of a forward pass. That products of the shape do not overflow was checked before.
template <class T>
Status checkForward(const Layer<T>& layer, const ForwardCall<T>& call)
{
    const LayerShape& shape = layer.shape();
    const std::uint64_t positions = call.batch * shape.length;
    return firstBad({checkSize("Input", call.input.size(), positions * shape.inputs),
                     checkSize("Output", call.output.size(), positions * shape.outputs)});
}

/// Sizes of the arrays of a tape, and that it is one of this batch and path.
template <class T>
Status checkTape(const Layer<T>& layer, const Tape<T>* given, std::uint64_t batch, Path path)
{
    const LayerShape& shape = layer.shape();
    if (given == nullptr || given->batch != batch) {
        return {StatusCode::BadSize, "the backward pass needs the tape of a forward pass with the same batch"};
    }
    if (path == Path::Documented && shape.isSequence && !given->hasEvents) {
        return {StatusCode::BadSize,
                "the documented backward pass needs the firing events of a documented forward pass"};
    }
    const std::uint64_t sites = batch * shape.length * shape.tables;
    const std::uint64_t places = std::uint64_t{shape.lags()} * shape.tables;
    return firstBad({checkSize("Lookup Indices", given->rows.size(), sites),
                     checkSize("Min Anchor Deltas", given->deltas.size(), sites),
                     checkSize("Min Anchor Delta Indices", given->bits.size(), sites),
                     checkSize("PE Lookup Indices", given->codeRows.size(), places),
                     checkSize("PE Min Deltas", given->codeDeltas.size(), places),
                     checkSize("PE Min Delta Indices", given->codeBits.size(), places)});
}

/// A step changes as many weights as there are, of a type that can be changed, where it is done.
template <class T>
Status checkStep(const Layer<T>& layer, const BackwardCall<T>& call, Path path)
{
    const WeightStep<T>& step = call.step;
    if (step.weights.empty()) {
        return {};
    }
    if (path == Path::Documented) {
        return {StatusCode::Unavailable,
                "weights are changed in place on the fused path alone; take that, or gradients "
                "of the weights"};
    }
    if (layer.description().rowType != RowType::Real) {
        return {StatusCode::Unavailable, "rows of 16 bits are not changed in place; take gradients of the weights"};
    }
    const std::size_t count = layer.description().weightCount();
    return firstBad({checkSize("Weights", step.weights.size(), count),
                     step.rates.empty() ? Status{} : checkSize("Rates", step.rates.size(), count),
                     checkSize("Weight Gradients beside a step", call.weightGradients.size(), 0)});
}

/// As checkForward, of a backward pass; results that are empty are not wanted.
template <class T>
Status checkBackward(const Layer<T>& layer, const BackwardCall<T>& call, Path path)
{
    const LayerShape& shape = layer.shape();
    const std::uint64_t positions = call.batch * shape.length;
    const auto wanted = [](const char* name, std::size_t has, std::uint64_t needs) {
        return has == 0 ? Status{} : checkSize(name, has, needs);
    };
    return firstBad(
        {checkTape(layer, call.tape, call.batch, path), checkStep(layer, call, path),
         checkSize("Output Gradients", call.outputGradients.size(), positions * shape.outputs),
         wanted("Input Gradients", call.inputGradients.size(), positions * shape.inputs),
         wanted("Weight Gradients", call.weightGradients.size(), layer.description().weightCount()),
         wanted("Positional Embedding Gradients", call.codeGradients.size(), layer.description().codes.size())});
}

/// Makes room for what a forward pass keeps.
template <class T>
void resizeTape(const Layer<T>& layer, std::uint64_t batch, Tape<T>& tape)
{
    const LayerShape& shape = layer.shape();
    const std::uint64_t sites = batch * shape.length * shape.tables;
    const std::uint64_t places = std::uint64_t{shape.lags()} * shape.tables;
    tape.batch = batch;
    tape.rows.resize(sites);
    tape.deltas.resize(sites);
    tape.bits.resize(sites);
    tape.codeRows.resize(places);
    tape.codeDeltas.resize(places);
    tape.codeBits.resize(places);
    tape.hasEvents = false;
    tape.mainEvents.clear();
    tape.otherEvents.clear();
}

} // namespace retro::lut
