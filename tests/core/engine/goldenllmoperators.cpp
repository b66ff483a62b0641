// SPDX-License-Identifier: Apache-2.0
// Operators of language models against stored vectors, in both precisions. Reads every folder of
// $RETROGRADE_GOLDEN/llm/operators, else of tests/data/golden/llm/operators; prints one line per failing case; fails
// when there is none.
#include "tests/core/engine/languagecases.h"

#include "core/engine/explain/runforward.h"

namespace retro::tests
{

namespace
{

using execute::Precision;

int failuresIn(const LanguageCase& one, Precision precision)
{
    CaseReport report(one, precision);
    auto model = engine::loadModel(one.folder / "model.onnx");
    if (!model) {
        return report.fail(model.error().text());
    }
    auto inputs = readTensors(one, one.meta.at("inputs"), *(*model)->graph());
    if (!inputs) {
        return report.fail(inputs.error().text());
    }
    const auto made = engine::runForward(**model, *inputs, precision);
    if (!made) {
        return report.fail(made.error().text());
    }
    for (const auto& [name, expected] : one.meta.at("outputs").items()) {
        const auto at = std::find(made->names.begin(), made->names.end(), name);
        if (at == made->names.end()) {
            report.fail("there is no output " + name);
            continue;
        }
        report.compare(name, made->outputs[static_cast<std::size_t>(at - made->names.begin())],
                       expected.at("file").get<std::string>());
    }
    return report.failures();
}

} // namespace

} // namespace retro::tests

int main() { return retro::tests::runLanguageCases("llm/operators", retro::tests::failuresIn); }
