---@meta

-- What tests of charts' scripts (tests/*_test.lua) can use besides, for editors. Written by
-- "helm script types"; changes are lost.

---Adds a test.
---@param name string
---@param f fun()
function test(name, f) end

---What run is given.
---@class helm.RunOptions
---@field values? table<string, any> # the user's values
---@field release? {name?: string, namespace?: string, revision?: integer}
---@field capabilities? {kubernetesVersion?: string, apiVersions?: string[]}
---@field cluster? table<string, any>[] # objects that lookups find
---@field objects? table<string, any>[] # in place of what the templates render
---@field http? table<string, string|{status?: integer, headers?: table<string, string>, body?: string}> # answers by "URL" or "METHOD URL"
---@field results? helm.Result[] # of the release's tests
---@field command? string # that emits the event, where there are several

---What came of a command or an event.
---@class helm.Outcome
---@field error? string # nil if nothing has failed
---@field values table<string, any>
---@field objects helm.Object[]
---@field chart {name: string, version: string, appVersion: string}
---@field templates table<string, string> # texts by names
---@field files table<string, string>
---@field dependencies helm.Dependency[]
---@field findings {severity: string, path: string, text: string}[] # of pre-lint
---@field printed string[] # "[chart] line"
---@field requests {method: string, url: string, body: string}[]

---Runs a command, such as "install", or an event with those that come before it, without a cluster.
---@param name string
---@param options? helm.RunOptions
---@return helm.Outcome
function run(name, options) end

---The first item of a list that has all that want has, or nil.
---@param list any[]
---@param want any
---@return any
function find(list, want) end

---Says what a value should be.
---@class helm.Expectation
---@field equals fun(want: any) # the same value; tables by what they hold
---@field differs fun(want: any) # another value
---@field includes fun(want: any) # a table with all keys and values of want, and maybe more
---@field contains fun(want: any) # a text with this part, or a list with an item that includes it
---@field isNil fun()
---@field exists fun() # not nil

---Fails the test if what is said of the value does not hold.
---@param value any
---@return helm.Expectation
function expect(value) end
