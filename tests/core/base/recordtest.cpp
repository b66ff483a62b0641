// SPDX-License-Identifier: Apache-2.0
// A description of fields is read as JSON, as CSV and as a table for people.
#include "core/base/record.h"

#include <QtTest>

#include <limits>

using nlohmann::ordered_json;
using retro::base::Fields;

namespace
{

struct Layer
{
    std::string name;
    double loss = 0;
    std::uint64_t bytes = 0;
    std::vector<int> shape = {};
    bool isLast = false;
};

const Fields<Layer>& fields()
{
    static const Fields<Layer> kFields{
        {"layer", &Layer::name, "{:<6}", "layer"},
        {"loss", &Layer::loss, "{:>8.2f}", "loss"},
        {"bytes", &Layer::bytes, "{:>8}", "size", [](const Layer& one) { return std::to_string(one.bytes) + " B"; }},
        {"shape", &Layer::shape},
        {"last", [](const Layer& one) { return one.isLast ? ordered_json(true) : retro::base::kLeftOut; }},
        {"", nullptr, " {}", "note", [](const Layer& one) { return one.isLast ? "the last" : ""; }}};
    return kFields;
}

const std::vector<Layer> kLayers{{"conv", 0.125, 4096, {1, 3}}, {"a,b", 1e6, 7, {}, true}};

} // namespace

class RecordTest : public QObject
{
    Q_OBJECT

private slots:
    void json()
    {
        QCOMPARE(fields().list(kLayers).dump(),
                 std::string(R"([{"layer":"conv","loss":0.125,"bytes":4096,"shape":[1,3]},)"
                             R"({"layer":"a,b","loss":1000000.0,"bytes":7,"shape":[],"last":true}])"));
    }

    void objects()
    {
        using retro::base::ifAny;
        using retro::base::orNull;
        ordered_json json = retro::base::objectOf({{"text", ifAny(std::string("a"))},
                                                   {"no text", ifAny(std::string())},
                                                   {"flag", ifAny(true)},
                                                   {"no flag", ifAny(false)},
                                                   {"none", orNull(std::optional<int>())},
                                                   {"list", ifAny(std::vector<int>{1, 2})}});
        retro::base::add(json, {{"number", ifAny(std::optional(3))}, {"no number", ifAny(std::optional<int>())}});
        QCOMPARE(json.dump(), std::string(R"({"text":"a","flag":true,"none":null,"list":[1,2],"number":3})"));
        QCOMPARE(retro::base::objectOf({}).dump(), std::string("{}"));
    }

    void csv()
    {
        QCOMPARE(fields().csv(kLayers), std::string("layer,loss,bytes,shape,last\n"
                                                    "conv,0.125,4096,1 3,\n"
                                                    "\"a,b\",1000000,7,,true\n"));
        QCOMPARE(Fields<Layer>({{"layer", &Layer::name}}).csv(kLayers, "\r\n"),
                 std::string("layer\r\nconv\r\n\"a,b\"\r\n"));
        QCOMPARE(retro::base::csvText(std::numeric_limits<double>::infinity()), std::string("inf"));
    }

    void table()
    {
        QCOMPARE(fields().heads(), std::string("layer      loss     size  note"));
        QCOMPARE(fields().line(kLayers[0]), std::string("conv       0.12   4096 B  "));
        QCOMPARE(retro::base::cellText("{:<3.3}", "convolution"), std::string("con"));
        QCOMPARE(fields().line(kLayers[1]), std::string("a,b    1000000.00      7 B  the last"));
    }
};

QTEST_GUILESS_MAIN(RecordTest)

#include "recordtest.moc"
