// SPDX-License-Identifier: Apache-2.0
#include "app/common/helptext.h"
#include "app/luttrain/trainoptions.h"
#include "core/base/exitcode.h"
#include "core/base/failure.h"
#include "core/base/file.h"
#include "core/base/inputfiles.h"
#include "core/base/standardstreams.h"
#include "core/formats/onnx.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>
#include <memory>

namespace
{

void addOptions(CLI::App& program, retro::app::TrainOptions& options)
{
    program.add_option("data", options.data, ".npz with x and y, and x_test and y_test if there are any")
        ->required()
        ->check(CLI::ExistingFile);
    program.add_option("--out", options.out, "the model, ONNX")->required();
    program
        .add_option(
            "--layer", options.layers,
            "[seq:]TxC[xP][%S[@R]]...[:O|:+][@R]: tables, comparisons, bits of a positional code; sparse: S, the share "
            "of the outputs that a row reaches by a group of synapses, and the group's rate R; O outputs, + = "
            "residual; "
            "the last R from 0 to 1 scales the layer's gradients")
        ->required();
    program.add_option("--picture", options.picture, "height and width: the model takes N x 1 x height x width")
        ->expected(2)
        ->check(CLI::Range(1, 65536));
    program.add_option("--embedding", options.embedding, "numbers per token, when x is integers")
        ->capture_default_str()
        ->check(CLI::Range(2, 4096));
    retro::engine::LutTrainOptions& training = options.training;
    const std::map<std::string, retro::engine::LutUpdate> updates{{"sgd", retro::engine::LutUpdate::Sgd},
                                                                  {"adam", retro::engine::LutUpdate::Adam}};
    program.add_option("--optimiser", training.update, "sgd (in place) or adam")
        ->transform(CLI::CheckedTransformer(updates, CLI::ignore_case).description("{adam,sgd}"))
        ->type_name("");
    using retro::engine::LutGradients;
    const std::map<std::string, LutGradients> gradients{
        {"dense", LutGradients::Dense}, {"sparse", LutGradients::Sparse}, {"internal", LutGradients::Internal}};
    program
        .add_option(
            "--gradient", training.gradients,
            "of weights: all, or, with sgd, what is not zero, or nowhere: the backward pass changes the weights")
        ->transform(CLI::CheckedTransformer(gradients, CLI::ignore_case).description("{dense,sparse,internal}"))
        ->type_name("");
    program.add_option("--rate", training.rate, "learning rate; falls to zero over the epochs")
        ->capture_default_str()
        ->check(CLI::PositiveNumber);
    program.add_flag("--normalised", training.isNormalised, "divide a layer's gradients by their largest amount");
    program.add_flag("!--constant-rate", training.fallsToZero, "the rate does not fall");
    program.add_option("--epochs", training.epochs, "")->capture_default_str()->check(CLI::Range(1, 100000));
    program.add_option("--batch", training.batch, "")->capture_default_str()->check(CLI::Range(1, 1 << 20));
    program.add_option("--seed", options.seed, "of anchors, codes, embedding and the order of samples")
        ->capture_default_str();
    program.add_option("--threads", training.threads, "0 = all")->check(CLI::Range(0, 1024));
}

void say(const retro::engine::LutTrainProgress& now)
{
    const std::string test = std::isnan(now.testRight) ? "" : fmt::format(", test {:.4f}", now.testRight);
    retro::base::sayLine(fmt::format("epoch {:3}  loss {:.5f}  right {:.4f}{}", now.epoch, now.loss, now.right, test));
    std::fflush(stdout);
}

retro::base::Result<void> run(retro::app::TrainOptions& options)
{
    RETRO_CHECK(retro::base::promiseOutput(options.out, "--out", "the model"));
    RETRO_TRY(const retro::app::TrainData data, retro::app::readTrainData(options.data));
    RETRO_TRY(const retro::engine::LutNetworkPlan plan, retro::app::planFor(options, data));
    RETRO_TRY(retro::engine::LutNetwork network, retro::engine::LutNetwork::create(plan));
    retro::base::sayLine(fmt::format("{} samples, {} classes, {} layers, {} numbers to learn", data.train.x.shape()[0],
                                     plan.classes, plan.layers.size(), network.parameterCount()));
    options.training.seed = options.seed;
    RETRO_CHECK(retro::engine::train(network, data.train, data.test, options.training, {}, say));
    const bool isPicture = options.picture.size() == 2;
    RETRO_TRY(const retro::graph::Graph graph,
              network.toGraph(isPicture ? std::array{options.picture[0], options.picture[1]} : std::array{0U, 0U}));
    RETRO_TRY(const std::vector<std::byte> bytes, retro::formats::toOnnx(graph));
    RETRO_CHECK(retro::base::writeFile(options.out, bytes));
    retro::base::sayLine(fmt::format("{} written, {} bytes", options.out.string(), bytes.size()));
    return retro::base::finishOutput();
}

} // namespace

int main(int argc, char** argv)
{
    retro::base::prepareStreams();
    CLI::App program("Trains a classifier of LUT layers and saves it as a model.", "retrograde-lut-train");
    program.formatter(std::make_shared<retro::app::HelpText>());
    retro::app::TrainOptions options;
    addOptions(program, options);
    try {
        program.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return program.exit(error) == 0 ? 0 : 2;
    }
    retro::base::holdAllThatIsRead();
    if (const auto done = retro::base::caught([&options] { return run(options); }); !done) {
        retro::base::sayErrorLine("retrograde-lut-train: " + done.error().text());
        return retro::base::exitCodeOf(done.error().code);
    }
    return 0;
}
