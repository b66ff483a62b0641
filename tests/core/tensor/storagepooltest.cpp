// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/storagepool.h"
#include "core/base/memoryaccount.h"
#include "core/tensor/tensor.h"

#include <QTest>

#include <thread>

using namespace retro::tensor;

class StoragePoolTest : public QObject
{
    Q_OBJECT

private slots:
    void memoryOfTensorsServesTheNextOnes()
    {
        StoragePool pool;
        const StoragePool::Use use(pool);
        const std::byte* block = nullptr;
        {
            const Tensor first = Tensor::zeros(DType::Float32, {100});
            block = first.rawData();
        }
        QVERIFY(pool.held() >= 400);
        const Tensor second = Tensor::full(DType::Float32, {100}, 2.0); // by way of a larger one in double
        const Tensor third = Tensor::zeros(DType::Float32, {100});
        QVERIFY(second.rawData() == block || third.rawData() == block);
        QCOMPARE(second.at(99), 2.0);
        QCOMPARE(third.at(99), 0.0);
    }

    void aBlockServesWhatIsUpToTwiceSmaller()
    {
        StoragePool pool;
        const StoragePool::Use use(pool);
        const std::byte* block = nullptr;
        {
            const Tensor first = Tensor::zeros(DType::Float32, {1024});
            block = first.rawData();
        }
        QCOMPARE(pool.held(), std::size_t{4096});
        {
            const Tensor smaller = Tensor::zeros(DType::Float32, {448});
            QVERIFY(smaller.rawData() != block);
        }
        {
            const Tensor half = Tensor::zeros(DType::Float32, {640});
            QCOMPARE(half.rawData(), block);
        }
        const Tensor again = Tensor::zeros(DType::Float32, {1024}); // the block is as large as it was
        QCOMPARE(again.rawData(), block);
    }

    void tensorsOutliveTheirPool()
    {
        Tensor kept;
        {
            StoragePool pool;
            const StoragePool::Use use(pool);
            kept = Tensor::full(DType::Float64, {3}, 1.5);
        }
        QVERIFY(StoragePool::current() == nullptr);
        QCOMPARE(kept.at(2), 1.5);
    }

    void whatDoesNotFitIsReturned()
    {
        StoragePool pool(1000);
        const StoragePool::Use use(pool);
        {
            const Tensor large = Tensor::zeros(DType::Float32, {1000});
        }
        QCOMPARE(pool.held(), std::size_t{0});
        {
            const Tensor small = Tensor::zeros(DType::Float32, {100});
        }
        QVERIFY(pool.held() > 0 && pool.held() <= 1000);
    }

    void upToThePeakItKeepsMore()
    {
        StoragePool pool(1000);
        const StoragePool::Use use(pool);
        pool.fillUpToPeak(true);
        retro::base::MemoryAccount::tensors().resetPeak();
        {
            const Tensor first = Tensor::zeros(DType::Float32, {1024});
            const Tensor second = Tensor::zeros(DType::Float32, {1024});
        }
        QVERIFY(pool.held() >= 8192); // as many as lived at once
        {
            const Tensor other = Tensor::zeros(DType::Float32, {448}); // too small for one of those
        }
        QVERIFY(pool.held() < 10240); // with it there would be more than there ever was
        pool.fillUpToPeak(false);
        QVERIFY(pool.held() <= 1000);
    }

    /// The highest value of the account starts anew with each pass; what the pass before left is as good as ever.
    void theNextUseFindsWhatTheLastOneLeft()
    {
        StoragePool pool(1000);
        for (int pass = 0; pass < 3; ++pass) {
            const StoragePool::Use use(pool);
            pool.fillUpToPeak(true);
            retro::base::MemoryAccount::tensors().resetPeak();
            {
                const Tensor alone = Tensor::zeros(DType::Float32, {1024});
            }
            QCOMPARE(pool.held() >= 10240, pass > 0); // given back although this pass took little so far
            const Tensor first = Tensor::zeros(DType::Float32, {1024});
            const Tensor second = Tensor::zeros(DType::Float32, {1536});
        }
        QVERIFY(pool.held() >= 10240);
        {
            const StoragePool::Use use(pool);
            pool.fillUpToPeak(true);
            retro::base::MemoryAccount::tensors().resetPeak();
            const Tensor small = Tensor::zeros(DType::Float32, {100});
        }
        QVERIFY(pool.held() <= 1000); // nobody takes that much any more
    }

    void aPoolIsOfItsThread()
    {
        StoragePool pool;
        const StoragePool::Use use(pool);
        QVERIFY(StoragePool::current() == &pool);
        bool hasOwn = true;
        std::thread([&hasOwn] { hasOwn = StoragePool::current() != nullptr; }).join();
        QVERIFY(!hasOwn);
        {
            StoragePool inner;
            const StoragePool::Use nested(inner);
            QVERIFY(StoragePool::current() == &inner);
        }
        QVERIFY(StoragePool::current() == &pool);
    }
};

QTEST_APPLESS_MAIN(StoragePoolTest)
#include "storagepooltest.moc"
