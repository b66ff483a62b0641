// SPDX-License-Identifier: Apache-2.0
// Storage tiers give back what they got, strides and all; the copy stream works in order and says what went wrong.
#include <QtTest>

#include "core/runtime/tensorstore.h"

#include <QTemporaryDir>

#include <array>
#include <vector>

using namespace retro;
using runtime::StorageTier;
using tensor::Tensor;

namespace
{

Tensor counted(tensor::Shape shape)
{
    std::vector<float> values(static_cast<std::size_t>(tensor::elementCount(shape)));
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<float>(i) * 0.5F - 3;
    }
    return Tensor::of<float>(std::move(shape), values);
}

/// Tensors of every form that operators make: dense, permuted, broadcast, backwards, a slice, a scalar, an empty one.
std::vector<Tensor> forms()
{
    const Tensor dense = counted({2, 3, 4});
    const std::array<std::int64_t, 3> order{2, 0, 1};
    const auto& storage = dense.storage();
    return {dense,
            dense.permuted(order),
            Tensor(tensor::DType::Float32, {5, 4}, {0, 1}, 3, storage),
            Tensor(tensor::DType::Float32, {4}, {-2}, 7, storage),
            Tensor(tensor::DType::Float32, {2, 2}, {12, 3}, 4, storage),
            Tensor::scalar(1.5),
            Tensor::zeros(tensor::DType::Int64, {0, 3}),
            Tensor::of<std::int64_t>({2}, std::array<std::int64_t, 2>{-1, 7})};
}

bool isSame(const Tensor& a, const Tensor& b)
{
    return a.dtype() == b.dtype() && a.strides() == b.strides() && a.bitEqual(b);
}

} // namespace

class TierTest : public QObject
{
    Q_OBJECT

private slots:
    void everyTierGivesBackWhatItGot_data()
    {
        QTest::addColumn<QString>("name");
        for (const auto& [name, tier] : runtime::standardTiers()) {
            QTest::newRow(name.c_str()) << QString::fromStdString(name);
        }
    }

    void everyTierGivesBackWhatItGot()
    {
        QFETCH(QString, name);
        const auto tier = runtime::standardTiers().at(name.toStdString());
        const std::vector<Tensor> tensors = forms();
        for (std::uint32_t key = 0; key < tensors.size(); ++key) {
            QVERIFY(tier->put(key, tensors[key]).ok());
        }
        QVERIFY(tier->bytes() > 0);
        for (std::uint32_t key = 0; key < tensors.size(); ++key) {
            const auto back = tier->get(key);
            QVERIFY2(back.ok() && isSame(*back, tensors[key]), qPrintable(QString("form %1").arg(key)));
            tier->drop(key);
            QVERIFY(!tier->get(key).ok());
        }
        QCOMPARE(tier->bytes(), std::uint64_t{0});
        tier->drop(99);
    }

    void zerosTakeLittleRoomWhenTheyArePacked()
    {
        const auto tier = runtime::compressedTier();
        QVERIFY(tier->put(0, Tensor::zeros(tensor::DType::Float32, {1000})).ok());
        QVERIFY(tier->bytes() < 400);
        QVERIFY(tier->put(0, Tensor::zeros(tensor::DType::Float32, {10})).ok()); // replaces it
        QCOMPARE(tier->get(0)->shape(), tensor::Shape({10}));
    }

    void theDiskTierLeavesNothingBehindAndNoticesDamage()
    {
        const QTemporaryDir folder;
        {
            const auto tier = runtime::diskTier(folder.path().toStdString());
            QVERIFY(QDir(folder.path()).isEmpty()); // nothing before the first tensor
            QVERIFY(tier->put(3, counted({4})).ok());
            const QStringList made = QDir(folder.path()).entryList(QDir::Dirs | QDir::NoDotAndDotDot);
            QCOMPARE(made.size(), 1);
            const QString file = folder.filePath(made.front() + "/3.bin");
            QVERIFY(QFile::exists(file));
            QVERIFY(QFile::resize(file, 5));
            RETRO_REFUSED(tier->get(3), "3.bin");
        }
        QVERIFY(QDir(folder.path()).isEmpty());
    }

    void aFolderThatCannotBeMadeIsNamed()
    {
        const auto tier = runtime::diskTier("/no/such/place");
        RETRO_REFUSED(tier->put(0, counted({1})), "/no/such/place");
    }

    void workIsDoneInOrder()
    {
        runtime::CopyStream stream;
        std::vector<int> done;
        runtime::CopyStream::Ticket last = 0;
        for (int i = 0; i < 100; ++i) {
            last = stream.submit([&done, i]() -> base::Result<void> {
                done.push_back(i);
                return {};
            });
        }
        QVERIFY(stream.wait(last).ok());
        QCOMPARE(done.size(), std::size_t{100});
        QVERIFY(std::is_sorted(done.begin(), done.end()));
    }

    void afterAnErrorNothingMoreIsDone()
    {
        runtime::CopyStream stream;
        bool hasRun = false;
        const auto first = stream.submit([]() -> base::Result<void> { return base::outputError("full"); });
        const auto second = stream.submit([&hasRun]() -> base::Result<void> {
            hasRun = true;
            return {};
        });
        QCOMPARE(QString::fromStdString(stream.wait(first).error().text()), QString("full"));
        QVERIFY(!stream.wait(second).ok());
        QVERIFY(!stream.drain().ok());
        QVERIFY(!hasRun);
    }

    void theStoreCountsWhatIsInMemory()
    {
        runtime::CopyStream stream;
        runtime::TensorStore store(3, stream);
        const Tensor tensor = counted({4});
        store.put(0, tensor);
        store.put(1, tensor, false); // pinned
        QCOMPARE(store.bytes(), std::uint64_t{16});
        store.offload(0, runtime::compressedTier());
        QCOMPARE(store.bytes(), std::uint64_t{16}); // until the copy has ended and it leaves
        QVERIFY(store.leave(0).ok());
        QCOMPARE(store.bytes(), std::uint64_t{0});
        QVERIFY(!store.has(0));
        store.prefetch(0);
        QCOMPARE(store.bytes(), std::uint64_t{16}); // room is taken at once
        QVERIFY(isSame(*store.get(0), tensor));
        QVERIFY(store.drop(0).ok());
        QVERIFY(store.drop(1).ok());
        QCOMPARE(store.bytes(), std::uint64_t{0});
        QCOMPARE(store.movedBytes(), std::uint64_t{32});
    }
};

QTEST_APPLESS_MAIN(TierTest)
#include "tiertest.moc"
