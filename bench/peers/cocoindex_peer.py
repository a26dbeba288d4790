"""The jobs of bench/engine, done by CocoIndex. Prints one JSON object; times are of `App.update_blocking` alone.

    cocoindex_peer.py components COUNT FOLDER
    cocoindex_peer.py index FILES FOLDER code|text [POSTGRES_URL]
    cocoindex_peer.py slot FOLDER
    cocoindex_peer.py watch FILES FOLDER

FOLDER takes the databases. The index goes into a plain table with a vector as bytes (SQLite) or a pgvector column without an index (Postgres):
less than what Fairlead writes, which keeps full text and a searchable vector table besides.
"""

import asyncio
import dataclasses
import json
import os
import pathlib
import re
import resource
import sqlite3
import sys
import time
import zlib
from typing import Annotated

os.environ.setdefault("COCOINDEX_DISABLE_USAGE_TRACKING", "1")

import cocoindex as coco
import numpy as np
from cocoindex.connectors import localfs, sqlite
from cocoindex.ops.text import RecursiveSplitter

DIMENSIONS = 384
CHUNK_BYTES = 1200
OVERLAP_BYTES = 200
WORD = re.compile(r"\w+")
SPLITTER = RecursiveSplitter()
LANGUAGES = {
    ".ts": "typescript", ".js": "javascript", ".mjs": "javascript", ".cjs": "javascript",
    ".py": "python", ".c": "c", ".h": "c",
}  # fmt: skip
SLOT_RUNS = 400
SLOTS = 8
RUN_S = 0.01
SAVES = 40
BETWEEN_S = 0.15


def hashed_words(text: str) -> np.ndarray:
    """One number for each word by its hash, of length 1: what the `hash` embedder does."""
    hashes = np.fromiter((zlib.crc32(word.encode()) for word in WORD.findall(text)), dtype=np.uint32)
    vector = np.bincount(hashes % DIMENSIONS, minlength=DIMENSIONS).astype(np.float32)
    length = float(np.linalg.norm(vector))
    return vector if length == 0 else vector / length


def timed(app: coco.App) -> float:
    began = time.perf_counter()
    app.update_blocking()
    return time.perf_counter() - began


def first_of(app: coco.App) -> dict:
    cpu = time.process_time()
    first = timed(app)
    return {"firstS": first, "firstCpuS": time.process_time() - cpu}


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def use_state(folder: str) -> None:
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    os.environ["COCOINDEX_DB"] = str(pathlib.Path(folder) / "state")


# ---- empty components ----


@coco.fn(memo=True)
async def empty(item: int) -> None:
    pass


@coco.fn
async def empty_main(count: int) -> None:
    await coco.mount_each(empty, [(index, index) for index in range(count)])


def components(count: str, folder: str) -> dict:
    use_state(folder)
    app = coco.App("components", empty_main, int(count))
    first, unchanged = first_of(app), timed(app)
    return {**first, "unchangedS": unchanged, "rssMib": peak_mib()}


# ---- an index of files ----


@dataclasses.dataclass
class Row:
    id: str
    path: str
    text: str
    start_line: int
    end_line: int
    vector: Annotated[np.ndarray, DIMENSIONS]


DATABASE = coco.ContextKey[sqlite.ManagedConnection]("bench_sqlite")
POOL = coco.ContextKey("bench_postgres")


def rows_of(path: pathlib.PurePath, text: str, by: str):
    language = LANGUAGES.get(path.suffix) if by == "code" else None
    chunks = SPLITTER.split(text, CHUNK_BYTES, chunk_overlap=OVERLAP_BYTES, language=language)
    for number, chunk in enumerate(chunks):
        place = {"start_line": chunk.start.line, "end_line": chunk.end.line}
        yield {"id": f"{path} {number}", "path": str(path), "text": chunk.text, **place, "vector": hashed_words(chunk.text)}


@coco.fn(memo=True)
async def index_file(file: localfs.File, table, by: str, as_bytes: bool) -> None:
    text = (await file.read()).decode("utf-8", "replace")
    for row in rows_of(file.file_path.path, text, by):
        if as_bytes:
            row["vector"] = row["vector"].tobytes()
        table.declare_row(row=row)


async def sqlite_table():
    text, whole = sqlite.ColumnDef("TEXT", nullable=False), sqlite.ColumnDef("INTEGER", nullable=False)
    columns = {"id": text, "path": text, "text": text, "start_line": whole, "end_line": whole}
    columns["vector"] = sqlite.ColumnDef("BLOB", nullable=False)
    schema = sqlite.TableSchema(columns, ["id"])
    return await sqlite.mount_table_target(DATABASE, "chunks", schema)


async def postgres_table():
    from cocoindex.connectors import postgres

    text, whole = postgres.ColumnDef("text", nullable=False), postgres.ColumnDef("integer", nullable=False)
    columns = {"id": text, "path": text, "text": text, "start_line": whole, "end_line": whole}
    encode = lambda vector: "[" + ",".join(map(str, vector.tolist())) + "]"
    columns["vector"] = postgres.ColumnDef(f"vector({DIMENSIONS})", nullable=False, encoder=encode)
    schema = postgres.TableSchema(columns, ["id"])
    return await postgres.mount_table_target(POOL, "bench_peer_chunks", schema)


@coco.fn
async def index_main(files: str, by: str, in_postgres: bool, live: bool) -> None:
    table = await (postgres_table() if in_postgres else sqlite_table())
    walker = localfs.walk_dir(pathlib.Path(files), recursive=True, live=live)
    await coco.mount_each(index_file, walker.items(), table, by, not in_postgres)


def index_app(files: str, folder: str, by: str, url: str | None, live: bool = False) -> coco.App:
    use_state(folder)

    @coco.lifespan
    async def lifespan(builder: coco.EnvironmentBuilder):
        if url is None:
            builder.provide(DATABASE, sqlite.connect(pathlib.Path(folder) / "rows.db", load_vec=False))
            yield
        else:
            from cocoindex.connectors import postgres

            # asyncpg takes a socket's folder only where no host stands before it.
            async with await postgres.create_pool(url.replace("@localhost/", "@/")) as pool:
                builder.provide(POOL, pool)
                yield

    return coco.App(f"index-{by}", index_main, files, by, url is not None, live)


def index(files: str, folder: str, by: str, url: str | None = None) -> dict:
    app = index_app(files, folder, by, url)
    first, unchanged = first_of(app), timed(app)
    changed = sorted(path for path in pathlib.Path(files).rglob("*") if path.is_file())[0]
    with open(changed, "a") as file:
        file.write(f"\n// changed for the peer, {by}\n")
    one = timed(app)
    if url is not None:
        app.drop_blocking()
    return {**first, "unchangedS": unchanged, "oneFileS": one, "rssMib": peak_mib()}


# ---- a run of ten milliseconds ----


@coco.fn(memo=True)
async def sleeping(item: int) -> None:
    await asyncio.sleep(RUN_S)


@coco.fn
async def sleeping_main() -> None:
    await coco.mount_each(sleeping, [(index, index) for index in range(SLOT_RUNS)])


def slot(folder: str) -> dict:
    use_state(folder)
    app = coco.App(coco.AppConfig("slot", max_inflight_components=SLOTS), sleeping_main)
    return {"slotMs": timed(app) * 1000 * SLOTS / SLOT_RUNS}


# ---- from a saved file to its rows ----


def watch(files: str, folder: str) -> dict:
    return asyncio.run(watch_async(files, folder))


async def watch_async(files: str, folder: str) -> dict:
    app = index_app(files, folder, "code", None, live=True)
    updating = asyncio.ensure_future(app.update(live=True).result())
    rows = await reader(pathlib.Path(folder) / "rows.db")
    paths = sorted((path for path in pathlib.Path(files).rglob("*") if path.is_file()), reverse=True)
    fresh = []
    for save, path in enumerate(paths[:SAVES]):
        word = f"freshness{save}x"
        path.write_text(f"// {word}\n")
        saved = time.perf_counter()
        # By its key: a scan of the whole table, on the loop that indexes, would be what is measured.
        keys = (f"{path} 0", f"{path.relative_to(files)} 0")
        query = ("SELECT 1 FROM chunks WHERE id IN (?, ?) AND text LIKE ?", (*keys, f"%{word}%"))
        while rows.execute(*query).fetchone() is None:
            if time.perf_counter() - saved > 120 or updating.done():
                raise SystemExit(f"{path} did not come")
            await asyncio.sleep(0.002)
        fresh.append((time.perf_counter() - saved) * 1000)
        await asyncio.sleep(BETWEEN_S)
    updating.cancel()
    fresh.sort()
    return {"p50Ms": fresh[len(fresh) // 2], "worstMs": fresh[-1]}


async def reader(path: pathlib.Path) -> sqlite3.Connection:
    """Opens the rows once there are some."""
    while True:
        try:
            connection = sqlite3.connect(path)
            if connection.execute("SELECT count(*) FROM chunks").fetchone()[0] >= 100:
                return connection
        except sqlite3.OperationalError:
            pass
        await asyncio.sleep(0.05)


JOBS = {"components": components, "index": index, "slot": slot, "watch": watch}

if __name__ == "__main__":
    job, *arguments = sys.argv[1:]
    print(json.dumps(JOBS[job](*arguments)))
    sys.stdout.flush()
    os._exit(0)
